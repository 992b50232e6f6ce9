"""Many captures at once, on as many processes and machines as there are, with the result that one process would give.

```text
inputs    which captures: names, versions, when each starts        folder    where results lie: files or objects
splitting a run of captures to slices by address pair, once        buckets   a bucket's slices to connections
joining   which runs of captures cannot be apart                   merging   what crosses buckets
results   tables, JSON document, page                              workers   in this process, or Dask's
running   all of it, stage by stage, resumed where it stopped      query     SQL over the results
```

Rules, sizes and what was measured: docs/corpus.md.
"""

FLOORS = (
    *("engine", "errors", "folder", "overview", "inputs", "outcomes", "page", "query", "workers"),
    *("planning", "splitting", "icmp", "joining", "merging", "buckets", "beyond", "results", "running"),
)
"""Its modules, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""

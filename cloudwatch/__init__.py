"""CloudWatch: the metrics of a run's instance fetched into its folder, and the run's own numbers put as custom metrics.

    command          options, and what each subcommand says in the end
    fetching, importing, publishing      the three jobs, from a run folder to files or to the service
    catalog, discovery, queries          which metrics, how they are asked for
    service, account, backoff            boto3: who asks, again after throttling, one line for trouble
    metric_data, periods                 all pages of an answer; periods, retention, waiting
    answers, saved_answers, counters     answers as series of points; cumulative counters told from deltas
    store, table, files                  RUN/cloudwatch.json and RUN/cloudwatch.csv

boto3 is imported only when a service is asked.
"""

FLOORS = (
    *("backoff", "catalog", "errors", "policy", "progress", "records", "files", "periods", "trouble"),
    *("counters", "run_facts", "service", "answers", "transfer_metrics", "discovery", "publishing", "queries"),
    *("saved_answers", "table", "metric_data", "store", "fetching", "importing", "summary", "command"),
)
"""Its modules, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""

"""What the captures say as a whole: one ranked list of findings, the costliest first (docs/findings.md).

```text
facts       plain records of a document: connections, lookups, flows, neighbours, shared limits, inputs
vocabulary  a kind has one name, one short name, one colour, one remedy
rules/      a file for each kind of finding: from facts to findings
ranking     all rules in their order; what one rule explains, the next do not report again
lines       findings for the terminal and for pages
```

Every surface (terminal, JSON, page, run, comparison, corpus) shows this list. Nothing else says what is wrong.
"""

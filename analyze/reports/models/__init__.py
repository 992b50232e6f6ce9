"""Answers for language models: bounded, with frames as citations, equal to the JSON.

docs/report.md, "Answers for language models".

```text
folders     the captures below the folders that were named, and no other file
budget      an answer within so many tokens: what is left out is named
questions   what may be asked of captures: from a file's name to plain records
server      the same as tools of the Model Context Protocol
```
"""

"""The figures of a report, one kind in each module: results in, a `Chart` out that says what is to be seen, not how."""

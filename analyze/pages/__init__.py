"""The library of HTML reports: one file each that needs no network. It knows nothing of runs or captures.

blocks (what a page can show, as plain values)  ->  write (one file of it)
texts (numbers with their intervals as text)

A report is a function from data to a `blocks.Page`: nothing in it writes markup. `templates/` turns blocks into HTML
with every text escaped; `scripts/` draws figures on canvas, sorts and pages tables, and changes light, dark and print.
"""

"""What is written by one room and read by another, declared once: names of documents, run.json, tables, sizes as text.

Python 3.9 and its standard library alone: the folder goes into the agent's file. It uses no other room.
"""

STANDARD_OUTPUT = "-"
"""What people write for it where a file is expected."""

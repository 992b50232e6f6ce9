"""Columns and fields, and tables of them: on the terminal, as CSV and as Parquet."""

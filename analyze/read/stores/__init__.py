"""Captures in object stores, read and written where a file is: `s3://`, `gs://`, `az://`, `http(s)://`.

`place` knows what names look like, `store` opens a store with its own conventions for credentials, `listing` finds
objects by patterns, `reader` feeds the engine with ranges, `upload` writes results. The clients are obstore's.
"""

"""Whose service a connection went to: by the names it is known by, else by published address ranges.

`names` knows what host names tell, `ranges` reads address ranges, `identify` weighs them for one connection.
"""

"""From names to bytes: captures, objects in stores, indexes, filters, and what lies beside (run folders, counters)."""

FLOORS = ("side", "records", "stores")

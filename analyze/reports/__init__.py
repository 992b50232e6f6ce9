"""A report of each kind: of captures, of runs of connection pairs, and of the services' campaigns."""

FLOORS = ("annotated", "models", "live", "capture", "run", "storage", "queues", "swarm", "discovery")

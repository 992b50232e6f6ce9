"""Storage services as black boxes: workloads run with each service's own SDK, packets and a metadata log recorded."""

FLOORS = (
    # What is known of services and plans, and what one file or one line says.
    *("clock", "clock_sync", "errors", "kind", "plan_options", "process_sockets", "reverse_names", "round_trips"),
    *("service", "digest_sink", "exchanges", "journal", "options", "own_network", "plan", "recording"),
    *("resolver", "run_folder", "toml_file", "files", "rates", "removal", "services", "transfer", "endpoints"),
    # One transaction, its price and its limits.
    *("costs", "prices", "registry", "transaction", "budget", "display"),
    # One run.
    *("cleaning", "order", "course", "place", "resuming"),
    *("discovery", "kinds", "queues", "swarm", "tool", "campaign", "plans"),
)
"""Its folders and modules, lowest first: each imports from those below it alone (tests/house/test_circles.py)."""

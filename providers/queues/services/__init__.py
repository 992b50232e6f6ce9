"""One module for each queue service; see `providers.queues.registry`."""

"""One module for each queue service; see `vmtrace.providers.queues.registry`."""

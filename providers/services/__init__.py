"""One module for each service; its name, with hyphens, is the service's (see `vmtrace.providers.registry`)."""

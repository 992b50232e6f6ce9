"""One module for each service; its name, with hyphens, is the service's (see `providers.registry`)."""

"""A host with a kernel of its own (user-mode-linux), whose virtual processor can be stopped as hypervisors do."""

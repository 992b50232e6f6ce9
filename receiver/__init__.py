"""The far end of connection-pair campaigns, on the native host. Needs Python 3.9's standard library alone."""

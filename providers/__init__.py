"""Storage services as black boxes: workloads run with each service's own SDK, packets and a metadata log recorded."""

"""The report: one HTML file that holds everything it needs, and asks nothing of a network."""

"""Statistics from numbers to numbers: estimates with intervals, tests, correlations. They know nothing of runs."""

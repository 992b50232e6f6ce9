"""Two runs compared, before and after: `compare_runs` measures, the other files show it."""

"""The library of HTML reports: markup of tables and numbers. It knows nothing of runs or captures."""

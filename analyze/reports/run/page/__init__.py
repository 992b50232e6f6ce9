"""The HTML report of runs: `page` puts it together, each other file is a part of it."""

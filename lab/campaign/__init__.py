"""A campaign of connection pairs between two hosts of the lab: `run.run` makes one, and leaves the truth beside it."""

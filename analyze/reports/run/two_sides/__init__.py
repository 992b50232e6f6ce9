"""Both sides' captures of a transfer, matched packet by packet, and the table of that."""

"""What a run folder holds (`docs/run-folder.md`), read and checked: its record, pairs, transfers, provenance."""

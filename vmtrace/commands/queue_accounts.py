"""The line that accounts for every message of a queue run, for the end of `queue run` and of `queue clean`."""

from pathlib import Path


def accounts_text(folder: Path) -> str:
    """`12,000 messages: 11,990 delivered, 10 pending`; says so where the run cannot be read."""
    from vmtrace.analyze.read.records.run_folder import RunFolderError
    from vmtrace.analyze.reports.queues.fates import accounts, fates_text
    from vmtrace.analyze.reports.queues.run_folder import read_queue_run

    try:
        return fates_text(accounts(read_queue_run(folder)))
    except (RunFolderError, OSError, ValueError) as error:
        return f"messages not accounted for: {error}"

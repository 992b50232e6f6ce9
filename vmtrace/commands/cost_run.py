"""A measured storage run as the workload of a month, if it were run so many times in it."""

from vmtrace.analyze.reports.storage.records import StorageRun, Transaction
from vmtrace.providers.costs.quantities import Workload

_MONTH_S = 730 * 3600.0
_LEAST_STORED_S = 3600.0
"""Storage is charged by the hour."""


class UncountedError(Exception):
    """A run does not say what it used."""


def workload_of(run: StorageRun, per_month: float, gb_bytes: int) -> tuple[Workload, float]:
    """The workload, and how many retries of a month are among its requests; raises `UncountedError`."""
    used = run.used
    if used is None:
        raise UncountedError(f"{run.folder}: run.json does not say what was used (the run is {run.status})")
    held_byte_s = sum(_held_byte_s(one, run.transactions) for one in run.transactions if one.direction == "upload")
    uploaded_bytes = sum(one.moved_bytes for one in run.transactions if one.direction == "upload")
    times = per_month / gb_bytes
    workload = Workload(
        name=run.name,
        stored_gb=held_byte_s / _MONTH_S * times,
        read_gb_per_month=used.downloaded_bytes * times,
        written_gb_per_month=used.uploaded_bytes * times,
        read_requests_per_month=used.read_requests * per_month,
        write_requests_per_month=used.write_requests * per_month,
        delete_requests_per_month=used.delete_requests * per_month,
        objects=sum(one.files for one in run.transactions if one.direction == "upload"),
        mean_age_days=held_byte_s / uploaded_bytes / 86_400 if uploaded_bytes else None,
        notes=tuple(_notes(run, per_month)),
    )
    return workload, sum(one.exchange.retries for one in run.objects) * per_month


def _held_byte_s(upload: Transaction, transactions: tuple[Transaction, ...]) -> float:
    """Until the last transaction of the same files is over: then they are removed."""
    same = [one for one in transactions if (one.workload, one.repeat) == (upload.workload, upload.repeat)]
    held_s = (max(one.end_ns for one in same) - upload.start_ns) / 1e9
    return upload.moved_bytes * max(held_s, _LEAST_STORED_S)


def _notes(run: StorageRun, per_month: float) -> list[str]:
    notes = [f"{per_month:,.4g} runs a month; retries, listings and removals are among the requests, as measured"]
    if run.status != "complete":
        notes.append(f"the run is {run.status}: what it used until then counts")
    return notes

"""Reads the folder of a storage run, whatever state it is in: running, killed, without captures, damaged."""

import os
from dataclasses import replace
from pathlib import Path

from vmtrace.analyze.read.records.fields import Fields
from vmtrace.analyze.read.records.run_folder import inside, numbered_apart, read_lines, read_run_of
from vmtrace.analyze.read.records.service_run import of_folder
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.storage.records import (
    BENCHMARK,
    StorageRun,
    StoredObject,
    Transaction,
    campaign_record,
    charges_record,
    echo_record,
    names_record,
    object_record,
    transaction_record,
    used_record,
)
from vmtrace.formats.schemas import STORAGE_RUN


def read_storage_run(folder: str | os.PathLike[str], window: Window = ALL_TIME) -> StorageRun:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read."""
    return _within(read_run_of("vmtrace storage", STORAGE_RUN, folder, _run), window)


def _within(run: StorageRun, window: Window) -> StorageRun:
    """What of a run began in a part of its time; what a campaign asked for is chosen when it is read."""
    transactions = window.of(run.transactions, lambda one: one.start_ns)
    numbers = {one.number for one in transactions}
    kept = run.objects if not window else tuple(one for one in run.objects if one.transaction in numbers)
    said = window.said(len(transactions), len(run.transactions), "transaction") if run.kind == BENCHMARK else []
    return replace(
        run,
        transactions=transactions,
        objects=kept,
        echoes=window.of(run.echoes, lambda echo: echo.time_ns),
        problems=(*said, *run.problems),
        window=window,
    )


def _run(path: Path, record: Fields) -> StorageRun:
    problems: list[str] = []
    plan = record.part("plan")
    prices, used = record.part("prices"), record.part("used")
    return record.read(
        StorageRun,
        **of_folder(path, record),
        sdk=record.program("sdk"),
        plan=plan.text("name") if plan else None,
        scale=plan.number("scale") if plan else None,
        front_end_names=names_record(record.part("front_end_names")),
        transactions=_transactions(path, problems),
        objects=_objects(path, problems),
        echoes=tuple(read_lines(path, "rtt.jsonl", echo_record, problems)),
        left_behind=len(record.parts("left_behind")),
        currency=prices.text("currency") if prices else None,
        cost=used.amount("cost") if prices and used else None,
        charges=charges_record(used) if prices else None,
        problems=tuple(problems),
        used=used_record(used),
        **campaign_record(record),
    )


def named_apart(runs: list[StorageRun]) -> list[StorageRun]:
    """The runs with names that differ: their own, else with the service's, else with a number."""
    if len({run.name for run in runs}) == len(runs):
        return runs
    named = [replace(run, name=f"{run.name} ({run.provider})") for run in runs]
    return named if len({run.name for run in named}) == len(runs) else numbered_apart(runs)


def capture_of(run: StorageRun, transaction: Transaction) -> Path | None:
    """The capture of a transaction, if the folder holds it; never a file outside of the folder."""
    for name in (transaction.capture_file, f"packets/{transaction.number:04}.pcap"):
        if name and (found := inside(run.folder, name)):
            return found
    return None


def _transactions(path: Path, problems: list[str]) -> tuple[Transaction, ...]:
    """By number; of two with the same number the later line counts."""
    found = {one.number: one for one in read_lines(path, "transactions.jsonl", transaction_record, problems)}
    return tuple(found[number] for number in sorted(found))


def _objects(path: Path, problems: list[str]) -> tuple[StoredObject, ...]:
    found = {(one.transaction, one.number): one for one in read_lines(path, "objects.jsonl", object_record, problems)}
    return tuple(found[key] for key in sorted(found))

"""Folders of campaigns made in the open: requests and steps as docs/storage.md describes them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vmtrace.analyze.reports.storage.campaign import Campaign, measure_campaign
from vmtrace.analyze.reports.storage.run_folder import read_storage_run

START_NS = 1_175_000_000 * 10**9
S_NS = 10**9


def request(start_s: float, bps: float, **given: Any) -> dict[str, Any]:
    """A request that was done: its duration follows from size and throughput."""
    size = given.pop("bytes", 1_000_000)
    duration_s = 8 * size / bps
    start_ns = START_NS + round(start_s * S_NS)
    connection = {"local": "10.0.0.1:40000", "peer": "72.21.202.37:443", "requests": 1, "opened": True}
    values = {
        "probe": 1, "session": 1, "position": 1, "due_ns": start_ns, "late_s": 0.0, "direction": "download",
        "name": "n", "bytes": size, "moved_bytes": size, "digest_ok": True, "outcome": "done", "error_kind": None,
        "error": None, "lookups": [], "attempts": [], "start_ns": start_ns,
        "end_ns": start_ns + round(duration_s * S_NS), "duration_s": duration_s, "first_byte_ns": start_ns,
        "requests": 1, "retries": 0, "retry_causes": {}, "status": 200, "request_id": None,
        "front_end": "72.21.202.37:443", "connections": [connection],
    }  # fmt: skip
    return {**values, **given}


def folder_of(
    folder: Path, kind: str, requests: Iterable[dict[str, Any]] = (), steps: Sequence[dict[str, Any]] = (), **given: Any
) -> Path:
    """A complete run of that kind."""
    folder.mkdir(parents=True)
    plan = {"kind": kind, "name": f"made-{kind}", "scale": 1.0, "late_after_s": 0.01, **given.pop("plan", {})}
    record = {
        "schema": "vmtrace.storage_run/1", "name": folder.name, "status": "complete", "provider": "s3", "plan": plan,
        "start_ns": START_NS, "interface": "eth0", "front_ends": [], "left_behind": [],
        "sdk": {"name": "boto3", "version": "1"},
    } | given  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))
    for name, records in (("requests", requests), ("steps", steps)):
        with (folder / f"{name}.jsonl").open("w") as file:
            file.writelines(json.dumps(one) + "\n" for one in records)
    return folder


def campaign_of(folder: Path) -> Campaign:
    """The campaign of a folder that has one."""
    found = measure_campaign(read_storage_run(folder))
    assert found is not None
    return found


def with_moments(n: int, mean: float, stdev: float, top: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """So many values with this mean, sample standard deviation and 99th percentile: two per cent are the top."""
    many = max(2, n // 50)
    rest = n - many
    rest_mean = (n * mean - many * top) / rest
    squares = (n - 1) * stdev**2 + n * mean**2 - many * top**2
    spread = np.sqrt(squares / rest - rest_mean**2)
    # A few low ones and many high ones, none of which is above the top.
    low = next(one for one in range(rest // 2, 0, -1) if rest_mean + spread * np.sqrt(one / (rest - one)) <= top)
    high = rest_mean + spread * np.sqrt(low / (rest - low))
    low_value = rest_mean - spread * np.sqrt((rest - low) / low)
    return np.concatenate([np.full(low, low_value), np.full(rest - low, high), np.full(many, top)])

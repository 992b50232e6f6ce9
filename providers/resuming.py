"""`--resume`: whether a run's folder can be gone on with, and that the order is still the same one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vmtrace.capture.campaign import COMPLETE
from vmtrace.providers.errors import ProvidersError, UsageError
from vmtrace.providers.kind import BENCHMARK
from vmtrace.providers.order import Order
from vmtrace.providers.run_folder import lock_run, read_run

_TAIL_BYTES = 1 << 20


def check_resumable(order: Order, provider: str) -> dict[str, Any]:
    """`run.json` of the run that goes on. Raises `ProvidersError` where it cannot, `UsageError` for another order."""
    path = order.out
    if not path.is_dir():
        raise ProvidersError(f"--resume: {path}: no run is there: leave --resume out to begin one")
    os.close(lock_run(path))
    state = read_run(path)
    plan = state.get("plan")
    if not isinstance(plan, dict) or plan.get("kind", BENCHMARK) == BENCHMARK:
        raise UsageError(f"--resume: {path}: a benchmark cannot be resumed: begin a new one with another --out")
    if state.get("status") == COMPLETE:
        raise ProvidersError(f"--resume: {path}: this run is complete")
    for name in ("id", "container"):
        if not isinstance(state.get(name), str):
            raise ProvidersError(f"--resume: {path / 'run.json'}: {name} is missing: this run cannot go on")
    wanted = {"provider": provider, "plan": order.plan.as_record(), "endpoint_told": order.endpoint_url}
    for name, value in wanted.items():
        if state.get(name) != value:
            raise UsageError(f"--resume: {path}: the run has another {name}: give the options it was begun with")
    return state


def last_lines(path: Path) -> list[bytes]:
    """The complete lines at the end of a file, some thousand at most; none where there is no file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:
        return []
    lines = tail.split(b"\n")[:-1]
    return lines[1:] if size > _TAIL_BYTES else lines

"""Campaigns against the service in memory: orders, a clock that jumps, and the lines that they leave."""

import json
import math
import threading
from pathlib import Path
from typing import Any

from vmtrace.capture.campaign import End
from vmtrace.providers.campaign import run_campaign
from vmtrace.providers.clock import REAL, Clock
from vmtrace.providers.display import Display
from vmtrace.providers.kind import CampaignPlan
from vmtrace.providers.order import Order

START_NS = 1_700_000_000 * 10**9


class JumpingClock:
    """Time passes only where somebody waits, or says that work took some."""

    longest_sleep_s = math.inf

    def __init__(self) -> None:
        self._now_ns = START_NS
        self._lock = threading.Lock()

    def wall_ns(self) -> int:
        return self._now_ns

    def elapsed_ns(self) -> int:
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        self.passed(seconds)

    def passed(self, seconds: float) -> None:
        with self._lock:
            self._now_ns += max(0, round(seconds * 1e9))


def order(out: Path, plan: CampaignPlan, **more: Any) -> Order:
    """Without packets and host facts."""
    plain = {"provider": "fake", "capture": False, "interface": "any", "metadata": False}
    return Order(out=out, plan=plan, **{**plain, **more})


def run(out: Path, plan: CampaignPlan, clock: Clock = REAL, **more: Any) -> End:
    return run_campaign(order(out, plan, **more), Display(), clock)


def lines(out: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]

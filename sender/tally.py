"""What a run has come to so far, from its records: a few numbers for each pair, so that memory stays small."""

from __future__ import annotations

import statistics
from array import array
from shlex import quote
from typing import Any

from vmtrace.capture.afterwards import afterwards, command
from vmtrace.formats.quantities import plural, shown_bytes, shown_rate, shown_s
from vmtrace.sender.plan import Plan

Record = dict[str, Any]
PARTS = ("probe", "data")


class Tally:
    """Give it every pair's record; ask it for the summary."""

    def __init__(self) -> None:
        self.pairs = 0
        self.failed = 0
        self.dropped: dict[str, int] = {"sender": 0, "receiver": 0}
        self.capture_errors = 0
        self.clock_steps = 0
        self._bytes = 0
        self._goodputs_bps = {part: array("d") for part in PARTS}
        self._timed_bytes = dict.fromkeys(PARTS, 0)
        self._moving_s = dict.fromkeys(PARTS, 0.0)
        self._segments = dict.fromkeys(PARTS, 0)
        self._again = dict.fromkeys(PARTS, 0)
        self._srtts_s = {part: array("d") for part in PARTS}
        self._baselines_s = array("d")

    def add(self, record: Record) -> None:
        """Count a line of `pairs.jsonl`."""
        self.pairs += 1
        self.failed += record.get("status") != "complete"
        self.clock_steps += record.get("clock_step_s") is not None
        mean_s = (record.get("rtt") or {}).get("mean_s")
        if mean_s is not None:
            self._baselines_s.append(mean_s)
        for part in PARTS:
            transfer = record.get(part)
            if isinstance(transfer, dict):
                self._add_transfer(part, transfer)

    def as_record(self) -> Record:
        """The sums, for a program; null where nothing was measured."""
        return {
            "pairs_finished": self.pairs,
            "pairs_failed": self.failed,
            "bytes": self._bytes,
            **{f"{part}_goodput_median_bps": _median(self._goodputs_bps[part]) for part in PARTS},
            **{f"{part}_goodput_bps": self._goodput_bps(part) for part in PARTS},
            **{f"{part}_retransmission_rate": self._rate(part) for part in PARTS},
            **{f"{part}_srtt_mean_s": _mean(self._srtts_s[part]) for part in PARTS},
            "baseline_rtt_mean_s": _mean(self._baselines_s),
            "dropped_packets": dict(self.dropped),
            "capture_errors": self.capture_errors,
            "clock_steps": self.clock_steps,
        }

    def summary(self, plan: Plan, folder: str, status: str, error: str | None) -> str:
        """The same in plain words, with what to type next."""
        planned = plan.pairs_planned
        finished = plural(self.pairs, "pair") if planned is None else f"{self.pairs:,} of {plural(planned, 'pair')}"
        lines = [
            f"{status}: {finished} finished, {shown_bytes(self._bytes)} of payload" + (f" ({error})" if error else "")
        ]
        lines += [f"  {line}" for part in PARTS for line in self._part_lines(part, plan.fill)]
        lines += [f"  {line}" for line in self._trouble_lines()]
        following = []
        if status != "complete":
            following.append(f"vmtrace send --resume {quote(folder)} --key-file FILE")
        if self.pairs > self.failed:
            following.append(command("vmtrace", "report", folder))
        return "\n".join([*lines, *afterwards([folder], *following)])

    def _part_lines(self, part: str, unlike: bool) -> list[str]:
        """One line; `unlike`: data transfers differ in size, and their median says nothing of the whole."""
        median_bps, total_bps = _median(self._goodputs_bps[part]), self._goodput_bps(part)
        if median_bps is None:
            return []
        rate = self._rate(part)
        srtt_s, baseline_s = _mean(self._srtts_s[part]), _mean(self._baselines_s)
        words = [f"{part}: median throughput {shown_rate(median_bps)}"]
        if unlike and part == "data" and total_bps is not None:
            moved = f"{shown_bytes(self._timed_bytes[part])} in {shown_s(self._moving_s[part])}"
            words = [f"{part}: throughput {shown_rate(total_bps)} ({moved})"]
        words += [f"{100 * rate:.3g} % of segments retransmitted"] if rate is not None else []
        if srtt_s is not None:
            idle = "" if baseline_s is None else f" (idle: {shown_s(baseline_s)})"
            words.append(f"mean RTT {shown_s(srtt_s)}{idle}")
        return [", ".join(words)]

    def _trouble_lines(self) -> list[str]:
        lines = []
        for side, count in self.dropped.items():
            if count:
                lines.append(
                    f"{plural(count, 'packet')} not recorded at the {side}: later captures had a larger buffer"
                )
        if self.capture_errors:
            lines.append(f"{plural(self.capture_errors, 'capture')} failed: see their transfers in pairs.jsonl")
        if self.clock_steps:
            lines.append(
                f"the clock was set during {plural(self.clock_steps, 'pair')}: see clock_step_s in pairs.jsonl"
            )
        if self.failed:
            lines.append(f"{plural(self.failed, 'pair')} failed: see `error` in pairs.jsonl and attempts.jsonl")
        return lines

    def _add_transfer(self, part: str, transfer: Record) -> None:
        self._bytes += transfer.get("bytes") or 0
        if transfer.get("goodput_bps") is not None:
            self._goodputs_bps[part].append(transfer["goodput_bps"])
            self._timed_bytes[part] += round(transfer["goodput_bps"] * (transfer.get("duration_s") or 0.0) / 8)
            self._moving_s[part] += transfer.get("duration_s") or 0.0
        tcp = transfer.get("tcp") or {}
        if tcp.get("segments_out") and tcp.get("retransmitted_segments") is not None:
            self._segments[part] += tcp["segments_out"]
            self._again[part] += tcp["retransmitted_segments"]
        if tcp.get("srtt_s") is not None:
            self._srtts_s[part].append(tcp["srtt_s"])
        capture = transfer.get("capture") or {}
        for side in self.dropped:
            self.dropped[side] += capture.get(f"{side}_dropped") or 0
            self.capture_errors += capture.get(f"{side}_error") is not None

    def _goodput_bps(self, part: str) -> float | None:
        """All bits over the time in which they moved."""
        return 8 * self._timed_bytes[part] / self._moving_s[part] if self._moving_s[part] else None

    def _rate(self, part: str) -> float | None:
        return self._again[part] / self._segments[part] if self._segments[part] else None


def _median(values: array[float]) -> float | None:
    return statistics.median(values) if values else None


def _mean(values: array[float]) -> float | None:
    return statistics.fmean(values) if values else None

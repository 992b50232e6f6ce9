"""How often a verdict is right at each confidence: part `confidence` of `make accuracy`.

It makes no transfers. It reads those that the parts `limits`, `field` and `programs` have left, whole and with what a
capture lacks in practice: begun in mid-stream, and with packets missing. A verdict that is left open counts with the
factor that it names first. `tools.reliability_diagram` draws what `write` leaves.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vmtrace.lab.accuracy import (
    field_runs,
    gap_runs,
    limit_truth,
    limit_witnesses,
    program_runs,
    programs,
    verdict_runs,
)
from vmtrace.lab.accuracy.gap_runs import Made
from vmtrace.lab.accuracy.programs import told_of
from vmtrace.lab.accuracy.strangers import read_document
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.accuracy.verdict_runs import Labelled
from vmtrace.lab.edit.capture import parse_capture, pcap_bytes
from vmtrace.lab.edit.editor import Fault, edit
from vmtrace.lab.edit.missing import BeginLater, DropFrames
from vmtrace.lab.hosts import ADDRESSES

CLOSE = 0.1
"""The share that is right must be as near as this to the confidence."""
EDGES = (0.0, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Bins of confidence; the first holds what is left open."""
_FEW = 10
"""With fewer verdicts than this a bin says nothing of a tenth."""
_Z95 = 1.96
_WHOLE = "complete"
_AFTER_ITS_BURST = {"token_bucket": ("token_bucket", "bottleneck_bandwidth")}
"""In mid-stream nothing shows that it was faster before."""
_ONLY_AT_ITS_BEGINNING = frozenset({"setup", "slow_start"})
_UNCLEAR = "unknown"
_SHORT = frozenset({"short_tail_lost", "short_then_closed"})


@dataclass(frozen=True, slots=True)
class Told:
    """One verdict on a transfer whose limit is known."""

    part: str
    name: str
    place: str
    capture: str
    factor: str
    confidence: float
    is_right: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Verdicts of about one confidence."""

    low: float
    high: float
    count: int
    right: int
    confidence: float
    """Mean of them."""

    @property
    def share(self) -> float:
        """That is right."""
        return self.right / self.count

    @property
    def interval(self) -> tuple[float, float]:
        """The share's 95 % interval (Wilson 1927)."""
        centre = (self.share + _Z95**2 / (2 * self.count)) / (1 + _Z95**2 / self.count)
        spread = self.share * (1 - self.share) / self.count + _Z95**2 / (4 * self.count**2)
        half = _Z95 * math.sqrt(spread) / (1 + _Z95**2 / self.count)
        return max(centre - half, 0.0), min(centre + half, 1.0)

    @property
    def is_close(self) -> bool:
        """The share that is right is near the confidence."""
        return abs(self.share - self.confidence) <= CLOSE

    @property
    def has_enough(self) -> bool:
        """It has enough verdicts to judge it by."""
        return self.count >= _FEW


def study(options: Options) -> Outcome:
    """Verdicts on what `limits`, `field` and `programs` have made of that seed."""
    shown = collect(options.out.parent, options.seed, options.each)
    if not shown:
        return Outcome("no transfer of this seed is there: measure limits, field, programs", [], failed=True)
    write(shown, options.out.parent / "confidence.json")
    return Outcome(f"{len(shown)} verdicts on transfers of limits, field and programs", sections(shown), failed=False)


def collect(out: Path, seed: int, each: int) -> list[Told]:
    """All verdicts on what the other parts have left for a seed in a folder."""
    labelled = [("limits", one) for one in verdict_runs.draw(seed, each)]
    labelled += [("field", one) for one in field_runs.draw(seed, each)]
    found = [
        shown for part, one in labelled for shown in _of_labelled(part, one, out / part / f"{one.name}-seed{seed}")
    ]
    return [*found, *_of_programs(out / "programs", seed)]


def _of_labelled(part: str, labelled: Labelled, folder: Path) -> Iterator[Told]:
    if not (folder / "made.json").exists():
        return
    made = gap_runs.load(folder)
    if labelled.witnessed and _witnessed(labelled, made, folder) < labelled.witnessed:
        return
    for place, capture in made.captures.items():
        if place not in labelled.places:
            continue
        yield from _of_capture(part, labelled.name, place, _WHOLE, labelled.factors, capture, made.data_sender)
        if place == "middle" or not _lasts(labelled):
            continue
        for words, fault in _faults().items():
            factors = _factors_with(fault, labelled.factors)
            with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
                seed = random.Random(f"{labelled.name}/{place}/{words}").randrange(1 << 31)
                file.write(pcap_bytes(edit(parse_capture(capture.read_bytes()), fault, seed=seed).capture))
                file.flush()
                yield from _of_capture(
                    part, labelled.name, place, words, factors, Path(file.name), made.data_sender
                )  # fmt: skip


def _witnessed(labelled: Labelled, made: Made, folder: Path) -> float:
    """For which share of the time its factors limited it, by what kernel and emulator know."""
    return limit_truth.share(limit_truth.known(limit_witnesses.of(folder, made)), labelled.factors)


def _lasts(labelled: Labelled) -> bool:
    """What limits it limits it all along."""
    kind = labelled.name.rpartition("-")[0]
    return kind not in _SHORT and not _ONLY_AT_ITS_BEGINNING.intersection(labelled.factors)


def _faults() -> dict[str, Fault]:
    return {"begun in mid-stream": BeginLater(0.3), "1 % of packets missing": DropFrames(0.01)}


def _factors_with(fault: Fault, factors: tuple[str, ...]) -> tuple[str, ...]:
    return _AFTER_ITS_BURST.get(factors[0], factors) if isinstance(fault, BeginLater) else factors


def _of_programs(out: Path, seed: int) -> Iterator[Told]:
    for transfer in programs.draw(seed):
        folder = out / f"{transfer.name}-seed{seed}"
        made = program_runs.load(folder)
        # The stops of a busy machine may have limited the transfer, too: nobody knows what did.
        if made is None or made.problems:
            continue
        sender = ADDRESSES[transfer.ip_version]["sender"]
        for place in program_runs.PLACES:
            capture = folder / f"{place}.pcap"
            yield from _of_capture("programs", transfer.name, place, _WHOLE, transfer.factors, capture, sender)


def _of_capture(
    part: str, name: str, place: str, words: str, factors: Sequence[str], capture: Path, sender: str
) -> Iterator[Told]:
    document = read_document(capture)
    if document is None:
        return
    for factor, confidence in told_of(document, sender).ranked:
        yield Told(part, name, place, words, factor, confidence, factor in factors)


def bins(told: Iterable[Told]) -> list[Bin]:
    """Those that have any verdict, by rising confidence."""
    # What is unclear names nothing that could be right.
    every = [one for one in told if one.factor != _UNCLEAR]
    found = []
    for low, high in itertools.pairwise(EDGES):
        held = [one for one in every if low <= one.confidence < high]
        if held:
            mean = sum(one.confidence for one in held) / len(held)
            found.append(Bin(low, high, len(held), sum(one.is_right for one in held), mean))
    return found


def sections(told: Sequence[Told]) -> list[str]:
    """The tables in Markdown, line by line."""
    lines = ["", _story(told), "", *_table(bins(told))]
    lines += ["", "#### By part and capture", "", *_parts(told)]
    lines += ["", "#### By factor", "", *_groups("factor", _by(told, lambda one: one.factor))]
    sure = [one for one in told if not one.is_right and one.confidence > 0.8]
    named = sorted({f"{one.name} ({one.place}, {one.capture}: `{one.factor}` {one.confidence:.2f})" for one in sure})
    return [*lines, "", f"Wrong above 0.8: {'; '.join(named) or 'none'}."]


def _story(told: Sequence[Told]) -> str:
    named = [one for one in told if one.factor != _UNCLEAR]
    right = sum(one.is_right for one in named)
    error = sum((one.confidence - one.is_right) ** 2 for one in named) / max(len(named), 1)
    far = [one for one in bins(told) if one.has_enough and not one.is_close]
    words = ", ".join(f"{one.low:.1f} to {one.high:.1f}" for one in far)
    judged = f"further than 10 points: {words}" if far else "at every confidence the share is within 10 points of it"
    unclear = f"; {len(told) - len(named)} more name no factor" if len(told) > len(named) else ""
    return f"{len(named)} verdicts, {right} right{unclear}; {judged}; Brier score {error:.3f}."


def _table(found: Sequence[Bin]) -> list[str]:
    lines = ["| confidence | verdicts | right | mean confidence | share right | 95 % interval | within 10 points |"]
    lines.append("|---|---:|---:|---:|---:|---|---|")
    for one in found:
        low, high = one.interval
        close = ("yes" if one.is_close else "**no**") if one.has_enough else "too few"
        cells = (f"{one.low:.1f} to {one.high:.1f}", str(one.count), str(one.right), f"{one.confidence:.0%}",
                 f"{one.share:.0%}", f"{low:.0%} to {high:.0%}", close)  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _parts(told: Sequence[Told]) -> list[str]:
    return _groups("part, capture", _by(told, lambda one: f"{one.part}, {one.place}, {one.capture}"))


def _by(told: Sequence[Told], key: Callable[[Told], str]) -> Mapping[str, list[Told]]:
    groups: dict[str, list[Told]] = {}
    for one in told:
        groups.setdefault(key(one), []).append(one)
    return groups


def _groups(head: str, groups: Mapping[str, list[Told]]) -> list[str]:
    lines = [f"| {head} | verdicts | mean confidence | share right |", "|---|---:|---:|---:|"]
    for name, held in sorted(groups.items()):
        mean = sum(one.confidence for one in held) / len(held)
        lines.append(f"| {name} | {len(held)} | {mean:.0%} | {sum(one.is_right for one in held) / len(held):.0%} |")
    return lines


def write(told: Sequence[Told], path: Path) -> None:
    """What a diagram is drawn from, and every verdict, as JSON."""
    drawn = [asdict(one) | {"share": one.share, "interval": one.interval} for one in bins(told)]
    path.write_text(json.dumps({"bins": drawn, "verdicts": [asdict(one) for one in told]}, indent=1))

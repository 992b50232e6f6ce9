"""Findings of a campaign's captures: what each of them says, joined by kind and owner, the costliest first.

Stands behind the rules: reports on storage, queues and swarms print these rows by the same lines as every command.

Rule: docs/findings.md, "Of many captures".
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from vmtrace.analyze.findings.finding import MOST_LISTED, Finding, Record
from vmtrace.analyze.findings.lines import MOST_OF_MANY, finding_lines
from vmtrace.analyze.findings.rules.causes import cost_words
from vmtrace.formats.quantities import plural

MOST_JOINED = 20
_MOST_EVIDENCE = 3
_LEAST_SHARE = 0.01
"""Of the time of all connections: what costs less is left out."""


@dataclass(frozen=True, slots=True)
class OfCapture:
    """What one capture says."""

    file: str
    findings: tuple[Finding, ...]
    waited_s: float
    """The time that its connections took."""


@dataclass(frozen=True, slots=True)
class JoinedRow:
    """One kind of one owner, over all captures that show it. `evidence` names the file that its frames are of."""

    kind: str
    owner: str
    sentence: str
    confidence: float
    cost_s: float | None
    share: float | None
    """Of the time of all connections."""
    captures_count: int
    captures: list[str] = field(default_factory=list)
    """The first 20, the costliest first."""
    evidence: list[Record] = field(default_factory=list)
    remedy: str = ""


def of_captures(
    found: Iterable[Finding], connections: Sequence[Sequence[Any]], files: Sequence[str]
) -> list[OfCapture]:
    """The findings of several captures that were read together, by capture.

    `connections` are the values of `COLUMNS` of all; `files` are the captures' names as people are to see them. A
    finding that concerns connections of several captures counts for that of the first.
    """
    ids, inputs, durations = connections
    input_of = dict(zip(ids, inputs, strict=True))
    waited_s = [0.0] * len(files)
    for at, duration_s in zip(inputs, durations, strict=True):
        waited_s[at] += duration_s or 0.0
    by_capture: list[list[Finding]] = [[] for _ in files]
    for one in found:
        if one.connections or len(files) == 1:
            by_capture[input_of.get(one.connections[0], 0) if one.connections else 0].append(one)
    return [OfCapture(*one) for one in zip(files, map(tuple, by_capture), waited_s, strict=True)]


COLUMNS = ("id", "input", "duration_s")
"""Columns of the connection table that `of_captures` asks for."""


def joined(captures: Iterable[OfCapture], noun: str) -> list[JoinedRow]:
    """One row for each kind and owner; a capture is of one `noun`: a transaction, a stage, a download."""
    captures = list(captures)
    groups: defaultdict[tuple[str, str], list[tuple[OfCapture, Finding]]] = defaultdict(list)
    for capture in captures:
        for one in capture.findings:
            groups[one.kind, one.owner].append((capture, one))
    waited_s = sum(one.waited_s for one in captures)
    rows = [_row(*key, group, plural(len(captures), noun), waited_s) for key, group in groups.items()]
    kept = (one for one in rows if one.cost_s is None or one.cost_s >= _LEAST_SHARE * waited_s)
    return sorted(kept, key=_rank)[:MOST_JOINED]


def joined_lines(rows: Sequence[JoinedRow]) -> list[str]:
    """The costliest, for people."""
    return finding_lines(rows[:MOST_OF_MANY])


def _rank(one: JoinedRow) -> tuple[bool, float, float, str]:
    return one.cost_s is None, -(one.cost_s or 0.0), -one.confidence, one.kind


def _row(
    kind: str, owner: str, group: Sequence[tuple[OfCapture, Finding]], all_captures: str, waited_s: float
) -> JoinedRow:
    group = sorted(group, key=lambda one: -(one[1].cost_s or 0.0))
    files = list(dict.fromkeys(capture.file for capture, _ in group))
    costs = [one.cost_s for _, one in group if one.cost_s is not None]
    cost_s = sum(costs) if costs else None
    what = cost_words(kind, cost_s, waited_s) if cost_s is not None else group[0][1].sentence.removesuffix(".")
    share = min(1.0, cost_s / waited_s) if cost_s is not None and waited_s > 0 else None
    pieces = [{"file": capture.file, **piece} for capture, one in group for piece in list(one.evidence)[:1]]
    return JoinedRow(
        kind=kind,
        owner=owner,
        sentence=f"{len(files):,} of {all_captures}: {what}.",
        confidence=round(max(one.confidence for _, one in group), 3),
        cost_s=None if cost_s is None else round(cost_s, 9),
        share=None if share is None else round(share, 6),
        captures_count=len(files),
        captures=files[:MOST_LISTED],
        evidence=pieces[:_MOST_EVIDENCE],
        remedy=group[0][1].remedy,
    )

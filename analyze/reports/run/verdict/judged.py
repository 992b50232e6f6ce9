"""The verdict on one transfer, as it is kept: the engine's (docs/verdict.md) of one capture, or of two put together.

It is kept as JSON in one column of a run's measures, because it has parts of parts; here it gets types again.
"""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from vmtrace.analyze.findings.rules.causes import costs_of
from vmtrace.analyze.tables.schema.typed import LEFT_OUT, Positive
from vmtrace.analyze.words.verdict import is_open

Agreement = Literal["one_side", "agree", "disagree", "one_open", "both_open"]
"""What the captures of both sides say of each other; `one_side` if there is one verdict only."""


@dataclass(frozen=True, slots=True)
class Proof:
    """Frames that show something, and the capture that they are of."""

    text: str
    frames: tuple[int, ...]
    display_filter: str
    side: str
    """Whose capture: `sender` or `receiver` of the run."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """What a change would bring."""

    change: str
    goodput_bps: Positive
    time_share: Annotated[float, LEFT_OUT]
    """Of the transfer's time, what would still pass."""
    low_bps: float | None = None
    """Ends of the interval; None where it has none, or is not known."""
    high_bps: float | None = None

    def time_share_at(self, goodput_bps: float | None) -> float:
        """The same at an end of the interval, 0 to 1; where there is no end, what the prediction says."""
        return min(1.0, self.time_share * self.goodput_bps / goodput_bps) if goodput_bps else self.time_share


@dataclass(frozen=True, slots=True)
class Said:
    """What one capture alone says."""

    side: str
    factor: str
    confidence: float
    sentence: str


@dataclass(frozen=True, slots=True)
class Cost:
    """By how much shorter the transfer would have been without one kind of its account."""

    kind: str
    owner: str
    saves_s: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on a transfer."""

    factor: str
    share: float
    runner_up: str | None
    confidence: float
    sentence: str
    evidence: tuple[Proof, ...]
    what_if: tuple[WhatIf, ...]
    undetermined_between: tuple[str, ...]
    agreement: Agreement
    said: tuple[Said, ...]
    """By the captures that it is made of, that of the data's sender first."""
    decided_by: str | None = None
    """What settled a disagreement."""
    costs: tuple[Cost, ...] = ()
    """Of the capture that the verdict is of; empty where nothing would save a good part of the time."""

    @property
    def is_open(self) -> bool:
        """True if it names candidates and decides nothing."""
        return is_open(self.confidence)

    @property
    def candidates(self) -> tuple[str, ...]:
        """What it may be."""
        return self.undetermined_between or (self.factor,)

    def as_json(self) -> str:
        """To keep."""
        return json.dumps(asdict(self))


def of_record(connection: dict[str, Any], side: str, all_s: float, payload_bytes: int) -> Judged:
    """The engine's verdict on a connection, which must have one; `all_s` is the time that its limits are of."""
    verdict = connection["verdict"]
    what_if = tuple(
        WhatIf(
            one["change"],
            one["goodput_bps"],
            _time_share(one, payload_bytes * 8 / all_s),
            one.get("low_bps"),
            one.get("high_bps"),
        )
        for one in verdict["what_if"]
        if all_s > 0 and one["goodput_bps"]
    )
    return Judged(
        factor=verdict["factor"],
        share=verdict["share"],
        runner_up=verdict["runner_up"],
        confidence=verdict["confidence"],
        sentence=verdict["sentence"],
        evidence=tuple(
            Proof(one["text"], tuple(one["frames"]), one["display_filter"], side) for one in verdict["evidence"]
        ),
        what_if=what_if,
        undetermined_between=tuple(verdict["undetermined_between"]),
        agreement="one_side",
        said=(Said(side, verdict["factor"], verdict["confidence"], verdict["sentence"]),),
        costs=tuple(Cost(*one) for one in costs_of(connection)),
    )


def _time_share(one: dict[str, Any], all_bps: float) -> float:
    """Of the transfer's time, what is left with a change; `all_bps` stands in where the time is not known."""
    return float(min(1.0, (one.get("now_bps") or all_bps) / one["goodput_bps"]))


def of_json(kept: str | None) -> Judged | None:
    """What `as_json` made."""
    if kept is None:
        return None
    content = json.loads(kept)
    parts = {
        "evidence": tuple(Proof(**(one | {"frames": tuple(one["frames"])})) for one in content["evidence"]),
        "what_if": tuple(WhatIf(**one) for one in content["what_if"]),
        "said": tuple(Said(**one) for one in content["said"]),
        "costs": tuple(Cost(**one) for one in content["costs"]),
        "undetermined_between": tuple(content["undetermined_between"]),
    }
    return Judged(**(content | parts))

"""Two verdicts on one transfer, of the captures at both its ends, made one.

Captures that agree leave less doubt. Where they differ, what only both together show decides: where pauses were made,
and that nothing was lost. Where that does not decide, the two are witnesses that contradict each other, and often the
verdict is open: it then names both.

Rule: docs/verdict.md, "Two captures of one transfer".
"""

from dataclasses import dataclass, replace
from typing import Any

from vmtrace.analyze.read.records.run import Side, Transfer
from vmtrace.analyze.reports.run.measure import Captures, Measures, NotMeasuredError, judged_of, verdict_fields
from vmtrace.analyze.reports.run.verdict.judged import Agreement, Judged, of_json
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.units import seconds, share
from vmtrace.analyze.words.verdict import is_open

_MOST_CONFIDENCE = 0.95
"""The engine's, too."""
_DOUBT_LEFT = 2 / 3
"""Of the doubt of one capture, if the other agrees: most of it is of the transfer (its length, a close runner-up), and
both have it."""
_PLACED_CONFIDENCE = 0.75
"""Of a stop that one capture cannot place and both together can."""
_OPEN_CONFIDENCE = 0.5
"""The engine's, where packets stopped and nobody knows what limited."""
_MOST_OF_IT = 0.5


@dataclass(frozen=True, slots=True)
class Facts:
    """What packets matched between both captures show; None if they could not be matched."""

    lost_segments: int | None = None
    pause_at_sender_s: float = 0.0
    pause_on_path_s: float = 0.0
    pause_at_receiver_s: float = 0.0
    pause_elsewhere_s: float = 0.0
    """Of pauses that could not be placed between path and host."""

    @property
    def pauses_s(self) -> float:
        """All of them."""
        return self.pause_at_sender_s + self.pause_on_path_s + self.pause_at_receiver_s + self.pause_elsewhere_s


def together(near: Judged | None, far: Judged | None, facts: Facts) -> Judged | None:
    """The verdict of the data sender's capture (`near`) and the data receiver's (`far`)."""
    if near is None or far is None:
        return near or far
    placed = _placed(near, far, facts)
    if placed is not None:
        return placed
    if near.is_open and far.is_open:
        return _open(near, far, "both_open", max(near.confidence, far.confidence))
    if near.is_open or far.is_open:
        settled, other = (far, near) if near.is_open else (near, far)
        return _made(settled, (near, far), "one_open", settled.confidence, f"the {_place(settled, near)}'s capture",
                     f"The {_place(other, near)}'s capture leaves it open.")  # fmt: skip
    if near.factor == far.factor:
        doubt = (1 - max(near.confidence, far.confidence)) * _DOUBT_LEFT
        agreed = near if near.confidence >= far.confidence else far
        return _made(agreed, (near, far), "agree", min(_MOST_CONFIDENCE, 1 - doubt), None, "Both captures agree.")
    return _contradicting(near, far, facts)


def _placed(near: Judged, far: Judged, facts: Facts) -> Judged | None:
    """A stop that a capture alone could not place, and that both together can."""
    if "unknown" not in (near.factor, far.factor) or facts.pauses_s <= 0:
        return None
    stopped, other = (near, far) if near.factor == "unknown" else (far, near)
    if other.factor not in ("unknown", "host_stall"):
        return None
    host_s = facts.pause_at_sender_s + facts.pause_at_receiver_s
    if host_s >= _MOST_OF_IT * facts.pauses_s:
        where = "sender" if facts.pause_at_sender_s >= facts.pause_at_receiver_s else "receiver"
        words = f"both captures together: {_of_pauses(host_s, facts)} were made at a host"
        sentence = f"The {where} of the data stalled for {seconds(host_s)} in all ({words})."
        known = replace(stopped, factor="host_stall", runner_up=None, undetermined_between=(), sentence=sentence)
        said = other.factor == "host_stall"
        confidence = max(_PLACED_CONFIDENCE, other.confidence if said else 0.0)
        return _made(known, (near, far), "agree" if said else "both_open", confidence, words, "")
    if other.factor == "unknown" and facts.pause_on_path_s >= _MOST_OF_IT * facts.pauses_s:
        # There is no factor for a path that holds packets: it stays open what limited, and is told that no host did.
        words = f"both captures together: {_of_pauses(facts.pause_on_path_s, facts)} were made on the path"
        sentence = (
            f"Packets were held on the path for {seconds(facts.pause_on_path_s)} in all, not at a host ({words})."
        )
        known = replace(stopped, runner_up=None, undetermined_between=("unknown",), sentence=sentence)
        confidence = min(near.confidence, far.confidence, _OPEN_CONFIDENCE)
        return _made(known, (near, far), "both_open", confidence, words, "")
    return None


def _of_pauses(part_s: float, facts: Facts) -> str:
    return f"{seconds(part_s)} of {seconds(facts.pauses_s)} of pauses"


def _contradicting(near: Judged, far: Judged, facts: Facts) -> Judged:
    said = f"At the data's sender it looks like {in_words([near.factor])}, at its receiver like "
    said += f"{in_words([far.factor])}"
    shown = _shown(near, far, facts)
    if shown is not None:
        chosen, words = shown
        return _made(chosen, (near, far), "disagree", chosen.confidence, words, f"{said}; {words}.")
    chosen, other = (near, far) if near.confidence >= far.confidence else (far, near)
    confidence = _against(chosen.confidence, other.confidence)
    if is_open(confidence):
        return _open(near, far, "disagree", confidence)
    words = f"the {_place(chosen, near)}'s capture, which is surer"
    return _made(chosen, (near, far), "disagree", confidence, words, f"{said}; decided by {words}.")


def _shown(near: Judged, far: Judged, facts: Facts) -> tuple[Judged, str] | None:
    """Which of two settled verdicts stands, by what both captures together show."""
    by_factor = {near.factor: near, far.factor: far}
    stall = by_factor.get("host_stall")
    if stall is not None and facts.pauses_s > 0:
        other = far if stall is near else near
        host_s = facts.pause_at_sender_s + facts.pause_at_receiver_s
        # A program that gives nothing to send pauses at the sender, too: there the place tells nothing.
        if host_s >= _MOST_OF_IT * facts.pauses_s and other.factor not in ("application", "idle"):
            return stall, f"{share(host_s / facts.pauses_s)} of the time in pauses was made at a host"
        if facts.pause_on_path_s >= _MOST_OF_IT * facts.pauses_s:
            return other, f"{share(facts.pause_on_path_s / facts.pauses_s)} of the time in pauses was made on the path"
    if far.factor == "loss_recovery" and facts.lost_segments == 0:
        # Holes alone look like losses where data arrives.
        return near, "no segment was lost on the way, as both captures show"
    return None


def _against(one: float, other: float) -> float:
    """The probability that the first of two witnesses who contradict each other is right, each as sure as it says."""
    only_one, only_other, neither = one * (1 - other), other * (1 - one), (1 - one) * (1 - other)
    return only_one / (only_one + only_other + neither)


def _open(near: Judged, far: Judged, agreement: Agreement, confidence: float) -> Judged:
    named = (near.factor, far.factor, *near.undetermined_between, *far.undetermined_between)
    candidates = tuple(dict.fromkeys(named))
    if len(candidates) == 1:
        return _made(
            near, (near, far), agreement, min(confidence, near.confidence), None, "Both captures leave it open."
        )
    chosen, other = (near, far) if near.confidence >= far.confidence else (far, near)
    sentence = (
        f"Undecided: {in_words(candidates[:3])}; the capture at the data's sender shows"
        f" {in_words([near.factor])}, that at its receiver {in_words([far.factor])};"
        " a longer transfer would decide."
    )
    made = replace(
        chosen, runner_up=other.factor if other.factor != chosen.factor else chosen.runner_up, sentence=sentence
    )
    return replace(_made(made, (near, far), agreement, confidence, None, ""), undetermined_between=candidates[:3])


def _made(
    chosen: Judged, both: tuple[Judged, Judged], agreement: Agreement, confidence: float, by: str | None, more: str
) -> Judged:
    """The chosen one with what both show; the evidence of both, that of the chosen one first."""
    near, far = both
    other = far if chosen.said == near.said else near
    return replace(
        chosen,
        confidence=_rounded(confidence),
        sentence=f"{chosen.sentence} {more}".strip(),
        evidence=(*chosen.evidence, *(one for one in other.evidence if one not in chosen.evidence)),
        agreement=agreement,
        said=(*near.said, *far.said),
        decided_by=by,
    )


def _rounded(confidence: float) -> float:
    """With three digits, on the same side of the least that decides."""
    rounded = round(confidence, 3)
    return rounded if is_open(rounded) == is_open(confidence) else round(confidence - 0.0005, 3)


def _place(one: Judged, near: Judged) -> str:
    return "data sender" if one is near else "data receiver"


def verdict_of_both(transfer: Transfer, found: Measures, captures: Captures) -> dict[str, Any]:
    """The fields of `Measures` that change when the other capture is asked, too; none if there is nothing to ask."""
    uploads = {connection.upload for connection in transfer.connections}
    if len(uploads) != 1 or found.captured_at != "data sender":
        return {}
    far_side: Side = "receiver" if uploads == {True} else "sender"
    try:
        flows = captures.find(far_side, transfer.connections, at_sender=False)
    except NotMeasuredError:
        return {}  # `two_sides_problem` tells of it
    far = judged_of([(flow, flow.trace.records([flow.connection])[0]) for flow in flows])
    made = together(of_json(found.verdict), far, _facts(found))
    return verdict_fields(made) if made is not None else {}


def _facts(found: Measures) -> Facts:
    return Facts(
        lost_segments=found.two_sides_lost_segments,
        pause_at_sender_s=found.pauses_at_sender_s or 0.0,
        pause_on_path_s=found.pauses_on_path_s or 0.0,
        pause_at_receiver_s=found.pauses_at_receiver_s or 0.0,
        pause_elsewhere_s=found.pauses_elsewhere_s or 0.0,
    )

"""What the command line changes of a plan: words of options, read as a plan file's values are."""

from collections.abc import Mapping
from dataclasses import replace

from vmtrace.capture.quantities import duration_s, size_bytes
from vmtrace.providers.errors import UsageError
from vmtrace.providers.queues.plan import LARGEST, Kind, QueuePlan, Stage
from vmtrace.providers.queues.plans import (
    FASTEST_PER_S,
    MOST_MESSAGES,
    MOST_PROCESSES,
    checked_count,
    checked_seconds,
    checked_size,
)

FAST = "fast"
_COUNTS = {
    "messages": MOST_MESSAGES, "senders": MOST_PROCESSES, "receivers": MOST_PROCESSES, "deleters": MOST_PROCESSES,
    "backlog": MOST_MESSAGES, "send_batch": 1000, "receive_batch": 1000, "delete_batch": 1000,
}  # fmt: skip


def changed(plan: QueuePlan, words: Mapping[str, str]) -> QueuePlan:
    """The plan with these options in all stages that they are about; raises `UsageError`."""
    if "duration" in words and "messages" in words:
        raise UsageError("--duration: goes with a rate, and not with --messages")
    for name in words:
        try:
            plan = replace(plan, stages=tuple(_changed(stage, name, words[name]) for stage in plan.stages))
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')} {words[name]}: {error}") from None
    return plan


def _changed(stage: Stage, name: str, word: str) -> Stage:
    if name == "rate":
        return _at_rate(stage, word)
    if name == "duration":
        return _lasting(stage, duration_s(word))
    if name == "size":
        return replace(stage, size_bytes=checked_size(size_bytes(word), "size"))
    if name == "visibility":
        return replace(stage, visibility_s=checked_seconds(duration_s(word), "visibility", 1.0))
    if name == "wait":
        return replace(stage, wait_s=checked_seconds(duration_s(word), "wait", 0.0))
    if name == "messages" and stage.kind == Kind.TAKE:
        return stage
    return _with_count(stage, name, word)


def _with_count(stage: Stage, name: str, word: str) -> Stage:
    if name.endswith("_batch") and word == "largest":
        value = LARGEST
    else:
        most = _COUNTS[name]
        if not word.isascii() or not word.isdigit() or not 1 <= int(word) <= most:
            raise ValueError(f"expected a whole number from 1 to {most:,}")
        value = int(word)
    settings: dict[str, int] = {name: value}
    return replace(stage, **settings)  # type: ignore[arg-type] # all of these are whole numbers


def _at_rate(stage: Stage, word: str) -> Stage:
    """A stage that had a rate keeps its duration: so many more, or fewer, messages."""
    if not stage.sends:
        return stage
    if word == FAST:
        return replace(stage, rate_per_s=None)
    rate = float(word)
    if not 0 < rate <= FASTEST_PER_S:
        raise ValueError(f"messages per second, above 0 and at most {FASTEST_PER_S:,.0f}, or {FAST}")
    if stage.duration_s is None:
        return replace(stage, rate_per_s=rate)
    return replace(stage, rate_per_s=rate, messages=checked_count(max(1.0, rate * stage.duration_s), "rate"))


def _lasting(stage: Stage, lasts_s: float) -> Stage:
    if not stage.sends:
        return stage
    if stage.rate_per_s is None:
        raise ValueError(f"stage {stage.name} has no rate: give --rate, or --messages")
    return replace(stage, messages=checked_count(max(1.0, stage.rate_per_s * lasts_s), "duration"))

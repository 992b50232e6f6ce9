"""What the command line changes of a plan: words of options, read as a plan file's values are."""

from collections.abc import Mapping
from dataclasses import replace

from vmtrace.formats.quantities import duration_s
from vmtrace.providers.errors import UsageError
from vmtrace.providers.plan_options import from_word, whole, with_words
from vmtrace.providers.queues.plan import MOST_MESSAGES, QueuePlan, Stage
from vmtrace.providers.queues.plans import checked_count, per_s

FAST = "fast"


def changed(plan: QueuePlan, words: Mapping[str, str]) -> QueuePlan:
    """The plan with these options in all stages that they are about; raises `UsageError`."""
    if "duration" in words and "messages" in words:
        raise UsageError("--duration: goes with a rate, and not with --messages")
    of_sending = {"rate": _at_rate, "duration": _lasting, "messages": _counted}
    for name, change in of_sending.items():
        if name in words:
            try:
                stages = tuple(change(stage, words[name]) if stage.sends else stage for stage in plan.stages)
            except ValueError as error:
                raise UsageError(f"--{name} {words[name]}: {error}") from None
            plan = replace(plan, stages=stages)
    try:
        return replace(plan, stages=tuple(with_words(stage, words) for stage in plan.stages))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _counted(stage: Stage, word: str) -> Stage:
    return replace(stage, messages=whole(MOST_MESSAGES)(from_word(word)))


def _at_rate(stage: Stage, word: str) -> Stage:
    """A stage that had a rate keeps its duration: so many more, or fewer, messages."""
    if word == FAST:
        return replace(stage, rate_per_s=None)
    try:
        rate = per_s(float(word))
    except ValueError as error:
        raise ValueError(f"{error}, or {FAST}") from None
    if stage.duration_s is None:
        return replace(stage, rate_per_s=rate)
    return replace(stage, rate_per_s=rate, messages=checked_count(max(1.0, rate * stage.duration_s), "rate"))


def _lasting(stage: Stage, word: str) -> Stage:
    if stage.rate_per_s is None:
        raise ValueError(f"stage {stage.name} has no rate: give --rate, or --messages")
    return replace(stage, messages=checked_count(max(1.0, stage.rate_per_s * duration_s(word)), "duration"))

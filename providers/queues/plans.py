"""The queue plans that come with the program, and those in TOML files. What a file may hold: docs/queue.md."""

import re
from pathlib import Path
from typing import Any

from vmtrace.formats.quantities import duration_s
from vmtrace.providers.plan_options import checked, given, keys_of, measured, named, whole
from vmtrace.providers.queues.plan import LARGEST, MOST_MESSAGES, Kind, QueuePlan, Stage
from vmtrace.providers.toml_file import load, parsed, refuse_unknown

# Section 6 of Garfinkel: An Evaluation of Amazon's Grid Computing Services (TR-08-07, 2007): 10,000 messages stored one
# by one, removed one by one, and removed by the largest batch. Batches of messages in, and threads, came later.
_COUNT = 10_000
GARFINKEL2007 = QueuePlan(
    "garfinkel2007-queue",
    (
        Stage("put by 1", Kind.PUT, _COUNT),
        Stage("take by 1", Kind.TAKE),
        Stage("put by 1 again", Kind.PUT, _COUNT),
        Stage("take by largest", Kind.TAKE, receive_batch=LARGEST, delete_batch=LARGEST),
        Stage("put by largest", Kind.PUT, _COUNT, send_batch=LARGEST),
        Stage("take by largest again", Kind.TAKE, receive_batch=LARGEST, delete_batch=LARGEST),
        Stage("put by 1, 4 threads", Kind.PUT, _COUNT, senders=4),
        Stage("take by largest, 4 threads", Kind.TAKE, receive_batch=LARGEST, delete_batch=LARGEST, receivers=4),
    ),
)

# Yoon et al.: Effectively using Amazon Web Services, "Message latency of SQS": as fast as possible, then at a rate that
# the study does not name. Its delete queue "became too big and consumed all RAM": here the backlog is bounded.
_FLOW = Stage(
    "at a rate", Kind.FLOW, 36_000, 10.0, receive_batch=LARGEST, delete_batch=LARGEST, senders=2, receivers=2,
    wait_s=20.0,
)  # fmt: skip
_FAST = Stage(
    "as fast as possible", Kind.FLOW, 100_000, send_batch=LARGEST, receive_batch=LARGEST, delete_batch=LARGEST,
    senders=2, receivers=2, wait_s=20.0,
)  # fmt: skip
YOON = QueuePlan("yoon-latency", (_FLOW,))
YOON_FAST = QueuePlan("yoon-latency-fast", (_FAST,))
BUILT_IN = {plan.name: plan for plan in (GARFINKEL2007, YOON, YOON_FAST)}

FASTEST_PER_S = 100_000.0
_MOST_STAGES = 100
_MOST_REPEATS = 10_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,_-]{0,63}")
_name = named(_NAME, "letters, digits, spaces, dots, commas, hyphens and underscores")
_OF_SEVERAL = {
    "batch": ("send_batch", "receive_batch", "delete_batch"),
    "threads": ("senders", "receivers", "deleters"),
}
"""Keys that stand for several."""


def load_plan(name: str) -> QueuePlan:
    """The built-in plan of this name, or the one in the TOML file of this name; raises `UsageError`."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    known = f"a plan is a TOML file, or one of {', '.join(BUILT_IN)}"
    return load(path, f"plan {name}", known, lambda data: plan_of_toml(data, path.stem))


def plan_of_toml(data: bytes, name: str) -> QueuePlan:
    """A plan out of a file's content; `name` is for one that has none. Raises `ValueError`."""
    record = parsed(data, "plan")
    refuse_unknown(record, ("name", "repeat", "stage"), "the plan")
    stages = record.get("stage")
    if not isinstance(stages, list) or not 1 <= len(stages) <= _MOST_STAGES:
        raise ValueError(f"[[stage]]: expected 1 to {_MOST_STAGES}, each with a kind (put, take or flow)")
    made = tuple(_stage(one, number) for number, one in enumerate(stages, 1))
    names = [one.name for one in made]
    for one in names:
        if names.count(one) > 1:
            raise ValueError(f"two stages are called {one}: give each its own name")
    title = checked(_name, record.get("name", name if _NAME.fullmatch(name) else "unnamed"), "name")
    plan = QueuePlan(title, made, checked(whole(_MOST_REPEATS), record.get("repeat", 1), "repeat"))
    if plan.messages > MOST_MESSAGES:
        raise ValueError(f"{plan.messages:,} messages: at most {MOST_MESSAGES:,} are possible")
    return plan


def _stage(record: Any, number: int) -> Stage:
    where = f"stage {number}"
    if not isinstance(record, dict):
        raise ValueError(f"{where}: expected a table: write [[stage]]")
    own = ("name", "kind", "messages", "duration", "rate")
    refuse_unknown(record, (*own, *_OF_SEVERAL, *keys_of(Stage)), where)
    kind = _kind(record.get("kind"), where)
    rate = None if record.get("rate") is None else checked(per_s, record["rate"], f"{where}: rate")
    several = {key: record[one] for one, keys in _OF_SEVERAL.items() for key in keys if one in record}
    return Stage(
        name=checked(_name, record.get("name", f"{number} {kind}"), f"{where}: name"),
        kind=kind,
        messages=_messages(record, kind, rate, where),
        rate_per_s=rate,
        **given(Stage, {**several, **record}, f"{where}: "),
    )


def _kind(value: Any, where: str) -> Kind:
    try:
        return Kind(value)
    except ValueError:
        raise ValueError(f"{where}: kind: expected put, take or flow") from None


def _messages(record: dict[str, Any], kind: Kind, rate: float | None, where: str) -> int:
    if kind == Kind.TAKE:
        if {"messages", "duration", "rate"} & set(record):
            raise ValueError(f"{where}: a take stage sends nothing: leave messages, duration and rate out")
        return 0
    if "duration" in record:
        if rate is None or "messages" in record:
            raise ValueError(f"{where}: duration goes with a rate, and not with messages")
        lasts_s = checked(measured(duration_s), record["duration"], f"{where}: duration")
        return checked_count(rate * lasts_s, f"{where}: rate times duration")
    return checked(whole(MOST_MESSAGES), record.get("messages"), f"{where}: messages")


def checked_count(messages: float, where: str) -> int:
    """A number of messages; raises `ValueError` for one that is not possible."""
    if not 1 <= messages <= MOST_MESSAGES:
        raise ValueError(f"{where}: from 1 to {MOST_MESSAGES:,} messages are possible")
    return int(messages)


def per_s(value: Any) -> float:
    """Messages per second."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= FASTEST_PER_S:
        raise ValueError(f"messages per second, above 0 and at most {FASTEST_PER_S:,.0f}")
    return float(value)

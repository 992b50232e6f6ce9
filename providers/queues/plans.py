"""The queue plans that come with the program, and those in TOML files. What a file may hold: docs/queue.md."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vmtrace.capture.quantities import duration_s, size_bytes
from vmtrace.providers.queues.message import LEAST_BYTES
from vmtrace.providers.queues.plan import LARGEST, Kind, QueuePlan, Stage
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

MOST_MESSAGES = 100_000_000
MOST_PROCESSES = 64
FASTEST_PER_S = 100_000.0
_MOST_STAGES = 100
_MOST_REPEATS = 10_000
_LARGEST_MESSAGE_BYTES = 1 << 20
_LARGEST_BATCH = 1000
_LONGEST_S = 12 * 3600.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .,_-]{0,63}")
_STAGE_KEYS = (
    "name", "kind", "messages", "duration", "rate", "size", "batch", "send_batch", "receive_batch", "delete_batch",
    "threads", "senders", "receivers", "deleters", "visibility", "wait", "pause", "backlog",
)  # fmt: skip


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
    title = record.get("name", name if _NAME.fullmatch(name) else "unnamed")
    plan = QueuePlan(_name(title, "name"), made, _whole(record.get("repeat", 1), "repeat", _MOST_REPEATS))
    if plan.messages > MOST_MESSAGES:
        raise ValueError(f"{plan.messages:,} messages: at most {MOST_MESSAGES:,} are possible")
    return plan


def _stage(record: Any, number: int) -> Stage:
    where = f"stage {number}"
    if not isinstance(record, dict):
        raise ValueError(f"{where}: expected a table: write [[stage]]")
    refuse_unknown(record, _STAGE_KEYS, where)
    kind = _kind(record.get("kind"), where)
    rate = _rate(record.get("rate"), where)
    batch, threads = record.get("batch", 1), record.get("threads", 1)

    def count(key: str, default: Any, most: int) -> int:
        return _whole(record.get(key, default), f"{where}: {key}", most)

    def of_batch(key: str) -> int:
        value = record.get(key, batch)
        return LARGEST if value == "largest" else _whole(value, f"{where}: {key}", _LARGEST_BATCH)

    return Stage(
        name=_name(record.get("name", f"{number} {kind}"), f"{where}: name"),
        kind=kind,
        messages=_messages(record, kind, rate, where),
        rate_per_s=rate,
        size_bytes=checked_size(_measured(record.get("size", 1000), f"{where}: size", size_bytes), f"{where}: size"),
        send_batch=of_batch("send_batch"),
        receive_batch=of_batch("receive_batch"),
        delete_batch=of_batch("delete_batch"),
        senders=count("senders", threads, MOST_PROCESSES),
        receivers=count("receivers", threads, MOST_PROCESSES),
        deleters=count("deleters", threads, MOST_PROCESSES),
        visibility_s=_seconds(record.get("visibility", 30), f"{where}: visibility", 1.0),
        wait_s=_seconds(record.get("wait", 0), f"{where}: wait", 0.0),
        pause_s=_seconds(record.get("pause", 0.01), f"{where}: pause", 0.0),
        backlog=count("backlog", 1000, MOST_MESSAGES),
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
        lasts_s = _measured(record["duration"], f"{where}: duration", duration_s)
        return checked_count(rate * lasts_s, f"{where}: rate times duration")
    return _whole(record.get("messages"), f"{where}: messages", MOST_MESSAGES)


def checked_count(messages: float, where: str) -> int:
    """A number of messages; raises `ValueError` for one that is not possible."""
    if not 1 <= messages <= MOST_MESSAGES:
        raise ValueError(f"{where}: from 1 to {MOST_MESSAGES:,} messages are possible")
    return int(messages)


def checked_size(size: float, where: str) -> int:
    """The size of a message; raises `ValueError` for one that is not possible with any service."""
    if not LEAST_BYTES <= size <= _LARGEST_MESSAGE_BYTES or size != int(size):
        raise ValueError(f"{where}: whole bytes from {LEAST_BYTES} to {_LARGEST_MESSAGE_BYTES >> 20} MiB are possible")
    return int(size)


def _rate(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= FASTEST_PER_S:
        raise ValueError(f"{where}: rate: messages per second, above 0 and at most {FASTEST_PER_S:,.0f}")
    return float(value)


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{where}: expected up to 64 letters, digits, spaces, dots, commas, hyphens and underscores")
    return value


def _whole(value: Any, where: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"{where}: expected a whole number from 1 to {most:,}")
    return value


def _seconds(value: Any, where: str, least_s: float) -> float:
    return checked_seconds(_measured(value, where, duration_s), where, least_s)


def checked_seconds(seconds: float, where: str, least_s: float) -> float:
    """A time; raises `ValueError` for one that is not possible with any service."""
    if not least_s <= seconds <= _LONGEST_S:
        raise ValueError(f"{where}: from {least_s:g} s to {_LONGEST_S / 3600:.0f} h are possible")
    return float(seconds)


def _measured(value: Any, where: str, read: Callable[[str], float]) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{where}: expected a number or a text such as '4 kB' or '2 min'")
    try:
        return read(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None

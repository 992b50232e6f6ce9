"""A sender: batches of messages, each sent when its last message is due, or as soon as the backlog has room.

Due times follow from the rate and the beginning of the stage, whatever the service does (open loop). Batch number q of
a stage is sent by the sender whose place is q modulo the number of senders.
"""

import time
from collections.abc import Iterator
from functools import partial

from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.queues.board import Counter
from vmtrace.providers.queues.contract import Outgoing, Refusal
from vmtrace.providers.queues.desk import Desk
from vmtrace.providers.queues.message import Stamp

_LOOK_S = 0.002


def send_all(desk: Desk, start_ns: int) -> None:
    """Send what is this sender's; returns when that is done or the process should end."""
    stage = desk.task.stage
    begins_with = min(desk.task.first_batch)
    for batch in _batches(desk):
        first = batch * stage.send_batch
        places = range(first, min(first + stage.send_batch, stage.messages))
        dues_ns = [_due_ns(stage.rate_per_s, start_ns, place - begins_with * stage.send_batch) for place in places]
        in_time = desk.post.sleep_until(dues_ns[-1]) if stage.rate_per_s is not None else _has_room(desk, len(places))
        if not in_time:
            return
        _send(desk, [desk.task.first_message + place for place in places], dues_ns)


def _batches(desk: Desk) -> Iterator[int]:
    stage = desk.task.stage
    count = -(-stage.messages // stage.send_batch)
    return iter(range(desk.task.first_batch[desk.place], count, stage.senders))


def _due_ns(rate_per_s: float | None, start_ns: int, place: int) -> int:
    """0 where nothing is due at a set time."""
    return 0 if rate_per_s is None else start_ns + round(place / rate_per_s * 1e9)


def _has_room(desk: Desk, more: int) -> bool:
    """Wait for the backlog; False if the process should end. A stage that only puts has no backlog."""
    stage = desk.task.stage
    began_s = time.monotonic()
    while not desk.post.stopped:
        if stage.receivers == 0 or stage.kind != "flow":
            return True
        backlog = desk.board.total(Counter.ATTEMPTED) - desk.board.total(Counter.DELETED)
        if backlog + more <= max(stage.backlog, more):
            desk.waited_s += time.monotonic() - began_s
            return True
        desk.note_memory_now_and_then()
        time.sleep(_LOOK_S)
    return False


def _send(desk: Desk, numbers: list[int], dues_ns: list[int]) -> None:
    desk.meter.check_messages(len(numbers))
    sent_ns = time.time_ns()
    run, group = desk.task.run, f"sender-{desk.place}"
    messages = [
        Outgoing(desk.seal.body(Stamp(number, due, sent_ns), desk.task.stage.size_bytes), group, f"{run}-{number}")
        for number, due in zip(numbers, dues_ns, strict=True)
    ]
    desk.log.note("sending", time_ns=sent_ns, numbers=numbers)
    desk.count(Counter.ATTEMPTED, len(numbers))
    answers, exchange, error = desk.call(partial(desk.service.send, messages))
    refused = _refused(numbers, answers, error, exchange.status)
    if error is None:
        desk.count(Counter.SENT, len(numbers) - len(refused))
    values: dict[str, object] = {"sent_ns": sent_ns, "numbers": numbers, "due_ns": dues_ns}
    if refused:
        values["refused"] = refused
    desk.log.call("send", exchange, error, **values)
    desk.after(error)


def _refused(
    numbers: list[int], answers: list[Refusal | None] | None, error: ServiceError | None, status: int | None
) -> dict[int, str]:
    """The messages that the service did not take, by its own word, and why. After other errors nobody knows."""
    if answers is not None:
        return {number: one.code for number, one in zip(numbers, answers, strict=True) if one is not None}
    definite = status is not None and 400 <= status < 500
    if error is not None and (definite or error.kind in {ErrorKind.BUDGET, ErrorKind.THROTTLED}):
        return dict.fromkeys(numbers, str(error.kind))
    return {}

"""Receivers hand what they received to deleters; takers delete it themselves before they receive more.

The way to the deleters is a socket of whole packets, with a bounded buffer in the kernel: where deleters are slower,
receivers wait, and nobody's memory grows.
"""

import json
import socket
import time
from dataclasses import dataclass
from functools import partial

from vmtrace.providers.queues.board import Counter, Plane
from vmtrace.providers.queues.contract import Incoming
from vmtrace.providers.queues.desk import Desk

_PACKET_BYTES = 1 << 16
_LINGER_S = 0.05
"""How long a deleter waits for its batch to fill: far less than any visibility timeout."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A message of this run that was received, and is to be deleted."""

    number: int
    handle: str

    def packed(self) -> bytes:
        """As a packet."""
        return json.dumps([self.number, self.handle]).encode()


def received_of(packet: bytes) -> Taken:
    """What `packed` made."""
    number, handle = json.loads(packet)
    return Taken(number, handle)


def receive_all(desk: Desk, _start_ns: int, way: socket.socket) -> None:
    """Receive until the process should end; each message goes to the deleters."""
    while not desk.post.stopped:
        for one in receive_once(desk):
            way.send(one.packed())


def drain(desk: Desk, _start_ns: int) -> None:
    """Receive and delete, one batch after the other, until the process should end."""
    size = desk.task.stage.delete_batch
    while not desk.post.stopped:
        found = receive_once(desk)
        for start in range(0, len(found), size):
            delete_once(desk, found[start : start + size])


def receive_once(desk: Desk) -> list[Taken]:
    """One call; what is foreign stays where it is."""
    stage = desk.task.stage
    work = partial(desk.service.receive, stage.receive_batch, stage.wait_s, stage.visibility_s)
    messages, exchange, error = desk.call(work)
    own, lines, foreign = _sorted(desk, messages or [])
    values: dict[str, object] = {"messages": lines}
    if foreign:
        values["foreign"] = foreign
        desk.count(Counter.FOREIGN, foreign)
    desk.log.call("receive", exchange, error, **values)
    desk.after(error)
    if not messages and error is None and stage.wait_s == 0:
        desk.post.sleep_until(time.time_ns() + int(stage.pause_s * 1e9))
    return own


def _sorted(desk: Desk, messages: list[Incoming]) -> tuple[list[Taken], list[list[int | None]], int]:
    own, lines, foreign = [], [], 0
    for message in messages:
        stamp = desk.seal.read(message.body)
        if stamp is None:
            foreign += 1
            continue
        own.append(Taken(stamp.number, message.handle))
        lines.append([stamp.number, stamp.due_ns, stamp.sent_ns, message.deliveries])
        desk.count(Counter.DELIVERIES)
        place = desk.mark(stamp.number)
        if place is not None and desk.board.mark(Plane.RECEIVED, place):
            desk.count(Counter.RECEIVED)
    return own, lines, foreign


def delete_once(desk: Desk, some: list[Taken]) -> None:
    """One call."""
    desk.meter.removing = True
    answers, exchange, error = desk.call(partial(desk.service.delete, [one.handle for one in some]))
    desk.meter.removing = False
    found = answers or [None] * len(some)
    refused = {one.number: refusal.code for one, refusal in zip(some, found, strict=True) if refusal is not None}
    if error is None:
        for one in some:
            place = desk.mark(one.number)
            if one.number not in refused and place is not None and desk.board.mark(Plane.DELETED, place):
                desk.count(Counter.DELETED)
    values: dict[str, object] = {"numbers": [one.number for one in some]}
    if refused:
        values["refused"] = refused
    desk.log.call("delete", exchange, error, **values)
    desk.after(error)


def delete_all(desk: Desk, _start_ns: int, way: socket.socket) -> None:
    """Delete what the receivers hand over, until all of them are gone and nothing is left."""
    most = desk.task.stage.delete_batch
    while True:
        some = _waiting(way, most)
        if not some:
            return
        delete_once(desk, some)


def _waiting(way: socket.socket, most: int) -> list[Taken]:
    """At least one message, and as many as come within the time to linger; none once all receivers are gone."""
    way.settimeout(None)
    packets = [way.recv(_PACKET_BYTES)]
    ends_s = time.monotonic() + _LINGER_S
    while packets[-1] and len(packets) < most and (left_s := ends_s - time.monotonic()) > 0:
        way.settimeout(left_s)
        try:
            packets.append(way.recv(_PACKET_BYTES))
        except TimeoutError:
            break
    return [received_of(packet) for packet in packets if packet]

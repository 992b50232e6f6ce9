"""Which requests go wrong, and how: the rules of the fault proxy. Pure: no clock, no sockets.

The first rule that matches a request and is not used up decides; `skip` lets that many matching requests pass first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Action(StrEnum):
    """What happens to a request."""

    STATUS = "status"  # answered with `status` by the proxy; the server never sees it
    DELAY = "delay"  # passed on `delay_s` late
    RESET = "reset"  # the connection is reset (TCP RST) after `after_bytes` of the body
    TRUNCATE = "truncate"  # the answer ends after `after_bytes` of its body, short of its Content-Length
    SHORTEN = "shorten"  # the same, with a Content-Length that agrees: only a digest tells
    SLOW = "slow"  # the answer's body passes in pieces, `delay_s` apart
    ETAG = "etag"  # the answer has another ETag than the service gave
    CORRUPT = "corrupt"  # one bit of the answer's body is flipped, behind `after_bytes`


@dataclass(frozen=True, slots=True)
class Fault:
    """One rule. `path` is a regular expression searched in the request's target; None of `method` is any.

    What STATUS says beside the status is `code` (left out: the service's usual one) and `message`, as S3 and Azure word
    errors; Azure's reason for a refused signature is `detail`.
    `after_bytes` counts the body as sent: of the request where that has one, else of the answer (of the answer for all
    but RESET).
    """

    action: Action
    method: str | None = None
    path: str = ""
    times: int = 1
    skip: int = 0
    status: int = 503
    code: str = ""
    message: str = "made by vmtrace lab"
    detail: str = ""
    delay_s: float = 0.0
    after_bytes: int = 0

    def matches(self, method: str, target: str) -> bool:
        """Whether the rule is about such requests."""
        return self.method in (None, method) and re.search(self.path, target) is not None


def to_json(faults: Iterable[Fault]) -> list[dict[str, Any]]:
    """The rules as the proxy's settings hold them."""
    return [asdict(fault) for fault in faults]


def from_json(documents: Iterable[Mapping[str, Any]]) -> list[Fault]:
    """The rules out of the proxy's settings; an action that does not exist is a ValueError."""
    return [Fault(**{**document, "action": Action(document["action"])}) for document in documents]


@dataclass(slots=True)
class _Left:
    fault: Fault
    skip: int
    times: int


class Rules:
    """The rules with what is left of them."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._left = [_Left(fault, fault.skip, fault.times) for fault in faults]

    def choose(self, method: str, target: str) -> Fault | None:
        """The fault of this request, which is then used up by one; None for a request that passes."""
        for rule in self._left:
            if rule.times == 0 or not rule.fault.matches(method, target):
                continue
            if rule.skip:
                rule.skip -= 1
                return None
            rule.times -= 1
            return rule.fault
        return None

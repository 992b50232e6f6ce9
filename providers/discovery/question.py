"""One question to one resolver, and the reply checked: its code, its question, truncated replies again over TCP.

dnspython does the protocol. A reply is data: nothing that a resolver sends raises.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from vmtrace.providers.discovery.resolvers import Resolver

if TYPE_CHECKING:
    import dns.message

MOST_ADDRESSES = 4096
"""Kept of a reply; those beyond are counted."""
_EDNS_PAYLOAD_BYTES = 1232  # DNS flag day 2020: no fragments


class Status(StrEnum):
    """What came of a question."""

    ANSWERED = "answered"
    NO_DATA = "no_data"  # the name exists, without addresses of this family
    NO_SUCH_NAME = "no_such_name"
    REFUSED = "refused"
    FAILED = "failed"  # SERVFAIL and other codes
    OTHER_QUESTION = "other_question"  # or another message id, or none at all
    MALFORMED = "malformed"
    UNREACHABLE = "unreachable"
    SILENT = "silent"


REPLIED = frozenset({Status.ANSWERED, Status.NO_DATA, Status.NO_SUCH_NAME})
"""What answers the question, if only with a no."""


@dataclass(frozen=True, slots=True)
class Question:
    """`kind` is A or AAAA; a client subnet (RFC 7871) asks on behalf of somebody elsewhere."""

    name: str
    kind: str
    client_subnet: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """To one question. `ttl_s` is the least of the chain; `rtt_s` of the last attempt, None where none came back."""

    question: Question
    resolver: Resolver
    time_ns: int
    status: Status
    addresses: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    ttl_s: int | None = None
    rtt_s: float | None = None
    over_tcp: bool = False
    attempts: int = 1
    addresses_left_out: int = 0


async def ask(
    question: Question,
    resolver: Resolver,
    timeout_s: float,
    attempts: int,
    slot: Callable[[Resolver], Awaitable[None]],
) -> Reply:
    """The reply, after as many attempts as it takes; `slot` waits until this resolver may be asked once more."""
    reply = Reply(question, resolver, time.time_ns(), Status.SILENT)
    for attempt in range(1, attempts + 1):
        await slot(resolver)
        reply = await _once(question, resolver, timeout_s, attempt)
        if reply.status in REPLIED or reply.status is Status.REFUSED:
            break
    return reply


async def _once(question: Question, resolver: Resolver, timeout_s: float, attempt: int) -> Reply:
    import dns.exception
    import dns.query

    time_ns, began_ns = time.time_ns(), time.perf_counter_ns()
    over_tcp = False
    try:
        response, over_tcp = await _exchanged(question, resolver, timeout_s)
        status, found = _understood(response, question)
    except (dns.exception.Timeout, TimeoutError):
        status, found = Status.SILENT, _Found()
    except dns.query.BadResponse:
        status, found = Status.OTHER_QUESTION, _Found()
    except (dns.exception.DNSException, EOFError, ValueError):
        status, found = Status.MALFORMED, _Found()
    except OSError:
        status, found = Status.UNREACHABLE, _Found()
    silent = status in {Status.SILENT, Status.UNREACHABLE}
    rtt_s = None if silent else (time.perf_counter_ns() - began_ns) / 1e9
    kept, left_out = found.addresses[:MOST_ADDRESSES], max(0, len(found.addresses) - MOST_ADDRESSES)
    return Reply(
        question, resolver, time_ns, status, kept, found.aliases, found.ttl_s, rtt_s, over_tcp, attempt, left_out
    )


async def _exchanged(question: Question, resolver: Resolver, timeout_s: float) -> "tuple[dns.message.Message, bool]":
    """Over UDP, and again over TCP where the reply was cut."""
    import dns.asyncquery
    import dns.message

    query, where, port = _query(question), resolver.address, resolver.port
    try:
        over_udp = dns.asyncquery.udp(query, where, timeout_s, port, ignore_unexpected=True, raise_on_truncation=True)
        return await over_udp, False
    except dns.message.Truncated:
        return await dns.asyncquery.tcp(query, where, timeout_s, port), True


def _query(question: Question) -> "dns.message.Message":
    import dns.edns
    import dns.message
    import dns.name

    options: list[dns.edns.Option] = []
    if question.client_subnet is not None:
        address, _, length = question.client_subnet.partition("/")
        options.append(dns.edns.ECSOption(address, int(length)))
    name = dns.name.from_text(question.name)
    return dns.message.make_query(name, question.kind, use_edns=0, payload=_EDNS_PAYLOAD_BYTES, options=options)


@dataclass(frozen=True, slots=True)
class _Found:
    addresses: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    ttl_s: int | None = None


def _understood(response: "dns.message.Message", question: Question) -> tuple[Status, _Found]:
    import dns.exception
    import dns.message
    import dns.rcode

    code = response.rcode()
    if code == dns.rcode.REFUSED:
        return Status.REFUSED, _Found()
    if code not in {dns.rcode.NOERROR, dns.rcode.NXDOMAIN}:
        return Status.FAILED, _Found()
    if not _is_about(response, question):
        return Status.OTHER_QUESTION, _Found()
    if not isinstance(response, dns.message.QueryMessage):
        return Status.MALFORMED, _Found()
    try:
        chain = response.resolve_chaining()
    except dns.exception.DNSException:
        return Status.MALFORMED, _Found()
    aliases = tuple(str(one[0].target).rstrip(".").lower() for one in chain.cnames)
    if code == dns.rcode.NXDOMAIN:
        return Status.NO_SUCH_NAME, _Found((), aliases)
    addresses = () if chain.answer is None else tuple(dict.fromkeys(str(one.address) for one in chain.answer))
    status = Status.ANSWERED if addresses else Status.NO_DATA
    return status, _Found(addresses, aliases, int(chain.minimum_ttl) if addresses else None)


def _is_about(response: "dns.message.Message", question: Question) -> bool:
    import dns.name
    import dns.rdatatype

    asked = (dns.name.from_text(question.name), dns.rdatatype.from_text(question.kind))
    return [(one.name, one.rdtype) for one in response.question] == [asked]

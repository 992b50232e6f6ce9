"""One question to one resolver, whatever that does."""

import asyncio
import itertools
import socket

import pytest
from dnslib import RR, A, DNSQuestion, DNSRecord

from tests.providers.dns_stand_in import Answer, code, given, serving
from vmtrace.providers.discovery.question import MOST_ADDRESSES, Question, Reply, Status, ask
from vmtrace.providers.discovery.resolvers import Resolver

NAME = "s3.example.org"
MANY = [f"198.18.{high}.{low}" for high, low in itertools.product(range(4), range(250))]


def asked(resolver: Resolver, kind: str = "A", attempts: int = 1, name: str = NAME) -> Reply:
    async def at_once(_resolver: Resolver) -> None:
        return

    return asyncio.run(ask(Question(name, kind), resolver, 0.5, attempts, at_once))


def reply_of(answer: Answer, kind: str = "A", attempts: int = 1) -> Reply:
    with serving(answer) as resolver:
        return asked(resolver, kind, attempts)


def test_addresses_come_with_alias_and_the_least_ttl() -> None:
    reply = reply_of(given("192.0.2.1", "192.0.2.2", alias="edge.example.net", ttl_s=30))
    assert (reply.status, reply.addresses) == (Status.ANSWERED, ("192.0.2.1", "192.0.2.2"))
    assert (reply.aliases, reply.ttl_s) == (("edge.example.net",), 30)
    assert reply.rtt_s is not None
    assert 0 < reply.rtt_s < 2, "a busy machine has other things to do"


def test_a_name_with_ipv6_alone_has_no_ipv4_data() -> None:
    assert reply_of(given("2001:db8::1"), "A").status is Status.NO_DATA
    assert reply_of(given("2001:db8::1"), "AAAA").addresses == ("2001:db8::1",)


@pytest.mark.parametrize(
    ("name", "status"),
    [("NXDOMAIN", Status.NO_SUCH_NAME), ("REFUSED", Status.REFUSED), ("SERVFAIL", Status.FAILED)],
)
def test_codes_are_told_apart(name: str, status: Status) -> None:
    assert reply_of(code(name)).status is status


def test_a_thousand_addresses_are_asked_for_again_over_tcp() -> None:
    def answer(question: DNSRecord, over_tcp: bool) -> DNSRecord:
        full = given(*MANY)(question, over_tcp)
        assert isinstance(full, DNSRecord)
        return full if over_tcp else full.truncate()

    reply = reply_of(answer)
    assert (reply.over_tcp, len(reply.addresses), reply.addresses_left_out) == (True, 1000, 0)


def test_addresses_beyond_those_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ADDRESSES > 1000
    monkeypatch.setattr("vmtrace.providers.discovery.question.MOST_ADDRESSES", 2)
    reply = reply_of(given(*MANY[:5]))
    assert (len(reply.addresses), reply.addresses_left_out) == (2, 3)


def test_an_answer_to_another_question_is_none() -> None:
    def answer(question: DNSRecord, _over_tcp: bool) -> DNSRecord:
        reply = question.reply()
        reply.questions = [DNSQuestion("other.example.org")]
        reply.add_answer(RR("other.example.org", rdata=A("192.0.2.66")))
        return reply

    reply = reply_of(answer)
    assert (reply.status, reply.addresses) == (Status.OTHER_QUESTION, ())


def test_an_answer_with_another_id_is_none() -> None:
    def answer(question: DNSRecord, over_tcp: bool) -> DNSRecord:
        reply = given("192.0.2.66")(question, over_tcp)
        assert isinstance(reply, DNSRecord)
        reply.header.id = question.header.id ^ 1
        return reply

    assert reply_of(answer).status is Status.OTHER_QUESTION


def test_addresses_of_another_name_are_not_taken() -> None:
    def answer(question: DNSRecord, _over_tcp: bool) -> DNSRecord:
        reply = question.reply()
        reply.add_answer(RR("elsewhere.example.org", rdata=A("192.0.2.66")))
        return reply

    assert reply_of(answer).addresses == ()


def test_an_alias_of_itself_ends() -> None:
    reply = reply_of(given("192.0.2.1", alias=NAME))
    assert reply.status in {Status.MALFORMED, Status.ANSWERED}


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 40])
def test_bytes_that_are_no_message_are_a_status(data: bytes) -> None:
    assert reply_of(lambda _question, _over_tcp: data or b"x").status in {Status.MALFORMED, Status.OTHER_QUESTION}


def test_silence_is_asked_as_often_as_allowed() -> None:
    count = 0

    def answer(_question: DNSRecord, _over_tcp: bool) -> None:
        nonlocal count
        count += 1

    reply = reply_of(answer, attempts=2)
    assert (reply.status, reply.attempts, reply.rtt_s, count) == (Status.SILENT, 2, None, 2)


def test_a_lost_question_is_answered_at_the_second_attempt() -> None:
    turns = itertools.count()

    def answer(question: DNSRecord, over_tcp: bool) -> DNSRecord | bytes | None:
        return None if next(turns) == 0 else given("192.0.2.1")(question, over_tcp)

    reply = reply_of(answer, attempts=3)
    assert (reply.status, reply.attempts) == (Status.ANSWERED, 2)


def test_nobody_there_is_a_status() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert asked(Resolver("127.0.0.1", port)).status in {Status.UNREACHABLE, Status.SILENT}


def test_a_client_subnet_travels_with_the_question() -> None:
    seen: list[bytes] = []

    def answer(question: DNSRecord, over_tcp: bool) -> DNSRecord | bytes | None:
        seen.extend(bytes(option.data) for one in question.ar for option in one.rdata)
        return given("192.0.2.1")(question, over_tcp)

    async def at_once(_resolver: Resolver) -> None:
        return

    with serving(answer) as resolver:
        asyncio.run(ask(Question(NAME, "A", "203.0.113.0/24"), resolver, 2.0, 1, at_once))
    # RFC 7871, section 6: family 1, prefix of 24, scope 0, three bytes of address.
    assert seen == [bytes([0, 1, 24, 0, 203, 0, 113])]

"""A round of questions: rates are kept, resolvers that hang cost the others nothing, memory does not grow."""

import asyncio
import time
import tracemalloc
from collections import Counter
from contextlib import ExitStack

import pytest
from dnslib import DNSRecord

from tests.cut import cut
from tests.providers.dns_stand_in import code, given, serving
from vmtrace.providers.discovery.question import Reply, Status
from vmtrace.providers.discovery.resolvers import Resolver
from vmtrace.providers.discovery.resolving import GIVEN_UP_AFTER, Asking, Pace, ask_all, questions_for

FIRST, SECOND = Resolver("192.0.2.1"), Resolver("192.0.2.2")


def test_instants_are_spaced_by_both_rates() -> None:
    pace = Pace(10, 2, now_s=lambda: 100.0)
    waits = [pace.reserve_s(one) for one in (FIRST, SECOND, FIRST, SECOND)]
    assert waits == pytest.approx([0.0, 0.1, 0.5, 0.6])
    assert pace.free_in_s(FIRST) == pytest.approx(1.0)
    assert pace.free_in_s(Resolver("192.0.2.3")) == 0


def test_every_resolver_is_asked_every_question_once() -> None:
    each = questions_for(["a.example", "b.example"], ["A", "AAAA"], [None, "203.0.113.0/24"])
    assert len(set(each())) == len(list(each())) == 8


def test_a_rate_is_kept_and_every_reply_handed_on() -> None:
    replies: list[Reply] = []
    with ExitStack() as stack:
        resolvers = [stack.enter_context(serving(given(f"192.0.2.{number}"))) for number in (1, 2)]
        began_s = time.monotonic()
        asking = Asking(rate_per_s=50, resolver_rate_per_s=40, timeout_s=5.0)
        outcome = asyncio.run(
            ask_all(questions_for([f"n{number}.example" for number in range(20)], ["A"], [None]), resolvers, asking,
                    replies.append)
        )  # fmt: skip
        took_s = time.monotonic() - began_s
    assert (outcome.asked, outcome.replied, outcome.not_asked) == (40, 40, 0)
    assert took_s >= 39 / 50  # 40 questions are 39 intervals
    assert Counter(one.addresses for one in replies) == {("192.0.2.1",): 20, ("192.0.2.2",): 20}


def test_a_resolver_that_hangs_is_given_up_and_delays_nobody() -> None:
    replies: list[Reply] = []
    with ExitStack() as stack:
        good = stack.enter_context(serving(given("192.0.2.1")))
        hanging = stack.enter_context(serving(lambda _question, _over_tcp: None))
        refusing = stack.enter_context(serving(code("REFUSED")))
        asking = Asking(rate_per_s=200, resolver_rate_per_s=20, timeout_s=2.0, attempts=2)
        names = [f"n{number}.example" for number in range(40)]
        outcome = asyncio.run(
            ask_all(questions_for(names, ["A"], [None]), [good, hanging, refusing], asking, replies.append)
        )
    assert sum(one.resolver == good and one.status is Status.ANSWERED for one in replies) == 40
    assert outcome.given_up == {hanging: Status.SILENT, refusing: Status.REFUSED}
    assert outcome.not_asked == 120 - outcome.asked
    assert GIVEN_UP_AFTER <= sum(one.resolver == refusing for one in replies) < 40


@pytest.mark.slow
@pytest.mark.parametrize("most", cut([1500, 6000], 1))
def test_thousands_of_questions_use_no_more_memory_than_hundreds(most: int) -> None:
    def peak_bytes(names: int) -> int:
        seen = Counter[Status]()

        def on_reply(reply: Reply) -> None:
            seen[reply.status] += 1

        with serving(given("192.0.2.1")) as resolver:
            asking = Asking(rate_per_s=2000, resolver_rate_per_s=2000, timeout_s=5.0)
            tracemalloc.start()
            try:
                every = questions_for([f"n{number}.example" for number in range(names)], ["A"], [None])
                asyncio.run(ask_all(every, [resolver], asking, on_reply))
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert seen[Status.ANSWERED] >= 0.99 * names
        return peak

    peak_bytes(50)  # what libraries load at first
    few, many = peak_bytes(most // 10), peak_bytes(most)
    # The names, and 512 questions under way on a busy machine; a kept reply would be over a kilobyte for each.
    assert many < few + (most - most // 10) * 400 + 512 * 4096


def test_a_question_lost_on_the_way_is_asked_again_within_the_rates() -> None:
    turns = Counter[str]()

    def answer(question: DNSRecord, over_tcp: bool) -> DNSRecord | bytes | None:
        name = str(question.q.qname)
        turns[name] += 1
        return None if turns[name] == 1 else given("192.0.2.1")(question, over_tcp)

    replies: list[Reply] = []
    with serving(answer) as resolver:
        asking = Asking(rate_per_s=100, resolver_rate_per_s=100, timeout_s=5.0, attempts=3)
        names = [f"n{number}.example" for number in range(30)]
        began_s = time.monotonic()
        outcome = asyncio.run(ask_all(questions_for(names, ["A"], [None]), [resolver], asking, replies.append))
    assert outcome.replied == 30
    assert {one.attempts for one in replies} == {2}
    assert time.monotonic() - began_s >= 59 / 100

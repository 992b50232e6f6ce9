"""The report gives back exactly what the scripted proxy did to each message."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vmtrace.queue_runs import queue_run, report_of, state_of, truth_deliveries
from vmtrace.lab.services import queue_proxy
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.queue_faults import Fate, Rule
from vmtrace.lab.services.queue_proxy import QueueProxy
from vmtrace.lab.services.service import Service

# Six dropped, four repeated within the timeout, three deleted late, two delivered after their deletion, five held back
# for others to come first, and two refused by the service for good.
RULES = (
    *(Rule(number, Fate.DROP) for number in (3, 17, 40, 41, 42, 99)),
    *(Rule(number, Fate.REPEAT) for number in (5, 30, 31, 60)),
    *(Rule(number, Fate.LATE_DELETE, delay_s=9.0) for number in (20, 21, 70)),
    *(Rule(number, Fate.UNDELETE, delay_s=0.3) for number in (10, 50)),
    *(Rule(number, Fate.HOLD, delay_s=3.0) for number in (12, 25, 45, 65, 80)),
    *(Rule(number, Fate.THROTTLE, times=9) for number in (33, 66)),
)
WORDS = ("--rate", "20", "--messages", "100", "--senders", "1", "--receivers", "1", "--deleters", "4")
MORE = (
    "--receive-batch",
    "1",
    "--delete-batch",
    "1",
    "--visibility",
    "6s",
    "--wait",
    "1s",
    "--option",
    "max_attempts=1",
)


@pytest.fixture(scope="module")
def proxy(moto_service: Service, chain: Certificates) -> Iterator[QueueProxy]:
    with queue_proxy.started(moto_service, RULES, chain) as running:
        yield running


@pytest.fixture(scope="module")
def out(proxy: QueueProxy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("truth") / "run"
    done = queue_run(proxy.service, "sqs", folder, *WORDS, *MORE)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_message_has_the_fate_that_the_proxy_gave_it(out: Path) -> None:
    fates = report_of(out)["messages"]
    assert fates == {
        "planned": 100,
        "delivered": 92,
        "pending": 0,
        "lost": 6,
        "lost_in_flight": 0,
        "refused": 2,
        "unsent": 0,
    }


def test_deliveries_are_as_many_as_left_the_proxy(out: Path, proxy: QueueProxy) -> None:
    found, truth = report_of(out)["duplicates"], truth_deliveries(proxy)
    again = found["after_visibility"] + found["within_visibility"] + found["after_deletion"]
    assert again == truth.total() - len(truth)
    assert found["messages"] == sum(count > 1 for count in truth.values())
    assert found["most_deliveries"] == max(truth.values())


def test_duplicates_have_the_cause_that_the_proxy_made(out: Path, proxy: QueueProxy) -> None:
    found = report_of(out)["duplicates"]
    soon, undeleted, late = repeated_by_the_proxy(proxy)
    assert (found["within_visibility"] + found["after_deletion"], found["after_visibility"]) == (soon, late)
    # A copy that leaves while the deletion is under way is of either kind: that depends on the machine's load.
    assert found["within_visibility"] >= undeleted
    assert found["after_deletion"] >= 1
    assert soon >= 6
    assert min(late, found["late_deletions"]) >= 3


def repeated_by_the_proxy(proxy: QueueProxy) -> tuple[int, int, int]:
    """Copies sent well within the timeout of 6 s, those of them that left before a deletion, and all others.

    What the script makes comes 3 s after the delivery before it at most, and what the service repeats 6 s after it.
    """
    before_ns: dict[int, int] = {}
    deleted: set[int] = set()
    soon = undeleted = late = 0
    for one in proxy.passed():
        if one.what == "deleted":
            deleted.add(one.number)
        elif one.what == "delivered":
            if one.number in before_ns:
                early = one.time_ns - before_ns[one.number] < 4_500_000_000
                soon += early
                late += not early
                undeleted += early and one.number not in deleted
            before_ns[one.number] = one.time_ns
    return soon, undeleted, late


def test_held_messages_are_those_out_of_order(out: Path, proxy: QueueProxy) -> None:
    order = report_of(out)["order"]
    first: dict[int, None] = {}
    for one in proxy.passed():
        if one.what == "delivered":
            first.setdefault(one.number, None)
    numbers, late, highest = list(first), 0, -1
    for number in numbers:
        late += number < highest
        highest = max(highest, number)
    assert late >= 1
    assert order["out_of_order"] == late
    swapped = sum(numbers[i] > numbers[j] for i in range(len(numbers)) for j in range(i + 1, len(numbers)))
    assert order["tau"] == pytest.approx(1 - 4 * swapped / (len(numbers) * (len(numbers) - 1)), abs=1e-12)


def test_throttled_sends_are_errors_of_that_kind(out: Path) -> None:
    calls = {row["operation"]: row for row in report_of(out)["calls"]}
    assert calls["send"]["errors"] == {"throttled": 2}
    assert calls["send"]["failed"] == 2
    assert calls["send"]["calls"] == 100


def test_latency_from_the_due_time_is_the_proxys_and_the_way_from_it(out: Path, proxy: QueueProxy) -> None:
    latency = {row["from"]: row for row in report_of(out)["latency"]}
    truth: dict[int, float] = {}
    for one in proxy.passed():
        if one.what == "delivered":
            truth.setdefault(one.number, (one.time_ns - one.due_ns) / 1e9)
    assert latency["due"]["n"] == len(truth)
    # The receive call returns after the proxy sent; how long after, a busy machine decides.
    assert max(truth.values()) <= latency["due"]["max_s"] <= max(truth.values()) + 1.0
    assert latency["due"]["p50_s"] >= latency["sent"]["p50_s"] > 0


def test_nothing_is_left_at_the_service(out: Path) -> None:
    state = state_of(out)
    assert (state["status"], state["queue_removed"], state["left_behind"]) == ("complete", True, [])

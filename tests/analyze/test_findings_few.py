"""How many connections make a finding, and how close together: the bounds of rules, from both sides."""

import pytest

from tests.analyze.findings_made import Record, connection, direction, outcome
from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.rules import ports, resets


def facts(*connections: Record) -> Facts:
    return Facts.of_document({"connections": list(connections)})


def reset(number: int, at_s: float, to: str = "198.18.0.9:443") -> Record:
    return connection(number, 0.0, at_s, close="reset", outcome=outcome("reset_by_server", 0.8), server=to)


@pytest.mark.parametrize(("count", "last_s", "findings"), [(3, 5.1, 1), (3, 5.2, 0), (2, 5.0, 0), (4, 9.0, 1)])
def test_three_resets_within_a_tenth_of_a_second_are_one_moment(count: int, last_s: float, findings: int) -> None:
    some = [reset(number, 5.0) for number in range(1, count)]
    assert len(list(resets.find(facts(*some, reset(count, last_s))))) == findings


@pytest.mark.parametrize(
    ("to", "said"), [("198.18.0.9:443", "to 198.18.0.9:443 "), ("198.18.0.8:443", "to 2 servers ")]
)
def test_resets_at_one_moment_name_the_server_if_it_is_one(to: str, said: str) -> None:
    [one] = resets.find(facts(reset(1, 5.0), reset(2, 5.0), reset(3, 5.0, to)))
    assert said in one.sentence
    assert (one.owner, one.confidence, list(one.connections)) == ("server_host", 0.8, [1, 2, 3])


def unanswered(number: int, at_s: float) -> Record:
    silent = {"complete": False, "syn_retransmissions": 4, "rtt_s": None}
    more: Record = {"outcome": outcome("syn_unanswered"), "server_to_client": direction(packets=0)}
    return connection(number, at_s, 15.0, handshake=silent, close="open", **more)


@pytest.mark.parametrize(("alive", "failed", "findings"), [(3, 3, 1), (2, 3, 0), (3, 2, 0)])
def test_three_that_fail_beside_three_that_live_lack_ports(alive: int, failed: int, findings: int) -> None:
    living = [connection(number, 0.0, 30.0, close="open") for number in range(1, alive + 1)]
    failing = [unanswered(number, 5.0) for number in range(11, failed + 11)]
    assert len(list(ports.find(facts(*living, *failing)))) == findings


@pytest.mark.parametrize(("close", "until_s", "findings"), [("fin", 20.0, 1), ("fin", 19.9, 0), ("open", 19.9, 1)])
def test_a_connection_lives_while_another_fails_unless_it_ended_before(
    close: str, until_s: float, findings: int
) -> None:
    living = [connection(number, 0.0, until_s, close=close) for number in range(1, 4)]
    assert len(list(ports.find(facts(*living, *(unanswered(number, 5.0) for number in range(11, 14)))))) == findings

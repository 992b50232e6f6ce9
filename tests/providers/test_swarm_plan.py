"""The plan: every combination once per repeat, seeds chosen in turn, and wrong input named."""

from collections import Counter

import pytest

from vmtrace.providers.endpoints import shown_endpoint
from vmtrace.providers.errors import UsageError
from vmtrace.providers.swarm.peers import parsed_peers, reachable
from vmtrace.providers.swarm.plan import CAPACITY, SWARM, check_combinations, parsed_seeds, planned

PEERS = [(f"198.18.0.{number}", 6881) for number in range(1, 9)]


def test_every_combination_is_in_every_repeat() -> None:
    plan = planned((0, 1, 2, 4, 8), ("public", "forbidden"), 3, PEERS, capacity=False)
    kinds = Counter((one.web_seed, len(one.peers), one.repeat) for one in plan)
    assert set(kinds.values()) == {1}
    assert len(plan) == 3 * (5 + 4)  # forbidden with no seed has no source


def test_each_seed_is_chosen_as_often_as_the_others() -> None:
    plan = planned((2,), ("none",), 8, PEERS, capacity=False)
    assert set(Counter(peer for one in plan for peer in one.peers).values()) == {2}


def test_the_order_is_shuffled_and_the_same_each_time() -> None:
    first, second = (planned((1, 2, 4, 8), ("public",), 5, PEERS, capacity=False) for _ in range(2))
    assert first == second
    orders = {tuple(len(one.peers) for one in first if one.repeat == repeat) for repeat in range(1, 6)}
    assert len(orders) > 1


def test_capacities_come_first_one_source_each() -> None:
    plan = planned((0, 2), ("public", "forbidden"), 1, PEERS, capacity=True)
    alone = [one for one in plan if one.purpose == CAPACITY]
    assert plan[: len(alone)] == alone
    assert [(one.web_seed, one.peers) for one in alone] == [
        ("public", ()), ("none", (PEERS[0],)), ("none", (PEERS[1],)),
    ]  # fmt: skip
    assert all(one.purpose == SWARM for one in plan[len(alone) :])


@pytest.mark.parametrize("text", ["", "1,", "-1", "1.5", "two", "201", "1;2"])
def test_numbers_of_seeds_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--seeds"):
        parsed_seeds(text)


def test_a_case_without_any_source_is_refused() -> None:
    check_combinations(("public",), (0,))
    with pytest.raises(UsageError, match="nothing delivers without seeds"):
        check_combinations(("public", "forbidden"), (0,))


def test_peers_are_addresses_with_ports() -> None:
    found = parsed_peers(["198.18.0.1:6881,[fd00::1]:6882", "198.18.0.1:6881", "localhost:7000"])
    assert [shown_endpoint(peer) for peer in found[:2]] == ["198.18.0.1:6881", "[fd00::1]:6882"]
    assert found[2][1] == 7000
    assert len(found) == 3


@pytest.mark.parametrize("text", ["198.18.0.1", "198.18.0.1:0", "198.18.0.1:70000", ":6881", "nowhere.invalid:6881"])
def test_what_is_no_peer_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--peers"):
        parsed_peers([text])


def test_a_seed_that_accepts_no_connection_is_not_reachable() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # nobody listens there
        there, gone = listening.getsockname(), bound.getsockname()
        assert reachable([gone, there], 2.0) == [there]

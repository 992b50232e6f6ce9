"""Outcomes of buckets make those of the whole: counts are added, the first connections named, long lists cut."""

from typing import Any

import numpy as np

from vmtrace.corpus.outcomes import merged_outcomes


def group(kind: str, *servers: tuple[str, int, list[int]], not_listed: int = 0) -> dict[str, Any]:
    listed = [
        {"server": name, "connections": count, "ids": ids, "sentence": f"of {name}, number {ids[0]}"}
        for name, count, ids in servers
    ]
    return {
        "kind": kind,
        "connections": sum(count for _, count, _ in servers) + not_listed,
        "servers": listed,
        "servers_not_listed": not_listed,
        "connections_not_listed": not_listed,
    }


def test_a_server_in_two_buckets_is_one_with_the_sentence_of_its_first_connection() -> None:
    odd, even = np.array([1, 3, 5], np.uint32), np.array([2, 4, 6], np.uint32)
    one = [group("refused", ("b:1", 2, [2, 3])), group("completed", ("a:1", 1, [1]))]
    other = [group("refused", ("b:1", 1, [1]), ("c:1", 2, [2, 3]))]
    refused, completed = merged_outcomes([(one, odd), (other, even)])
    assert (refused["kind"], refused["connections"], completed["connections"]) == ("refused", 5, 1)
    first, second = refused["servers"]
    assert first == {"server": "b:1", "connections": 3, "ids": [2, 3, 5], "sentence": "of b:1, number 1"}
    assert (second["server"], second["ids"]) == ("c:1", [4, 6])


def test_lists_stay_as_short_as_one_process_has_them() -> None:
    numbers = np.arange(1, 301, dtype=np.uint32)
    servers = [(f"s{at}:1", 1, [at]) for at in range(1, 81)]
    others = [(f"t{at}:1", 1, [at]) for at in range(1, 81)]
    [merged] = merged_outcomes(
        [([group("refused", *servers, not_listed=3)], numbers), ([group("refused", *others)], numbers[100:])]
    )
    assert (len(merged["servers"]), merged["servers_not_listed"], merged["connections_not_listed"]) == (100, 63, 63)
    assert merged["connections"] == 163
    many = [([group("refused", ("a:1", 15, list(range(1, 16))))], numbers[skipped:]) for skipped in (0, 15)]
    assert merged_outcomes(many)[0]["servers"][0]["ids"] == list(range(1, 21))

"""Which downloads a run makes, and in which order: pure, so that the same plan gives the same order.

Each repeat has all combinations of a case and a number of seeds, shuffled, so that a change over time does not look
like an effect of the number. Repeats begin at another seed, so that each is among the chosen as often as the others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vmtrace.providers.endpoints import shown_endpoint
from vmtrace.providers.errors import UsageError
from vmtrace.providers.swarm.peers import Peer
from vmtrace.providers.swarm.web_seed import FORBIDDEN, NONE, PUBLIC

CASES = (PUBLIC, FORBIDDEN, NONE)
SEEDS = (0, 1, 2, 4, 8)
MOST_SEEDS, MOST_REPEATS = 200, 10_000
SWARM, CAPACITY = "swarm", "capacity"


@dataclass(frozen=True, slots=True)
class Planned:
    """One download: from so many seeds, with the web seed as the case says."""

    purpose: str
    """`swarm`, or `capacity`: one source alone, for a while."""
    web_seed: str
    peers: tuple[Peer, ...]
    repeat: int

    def as_record(self) -> dict[str, Any]:
        """For a line of `downloads.jsonl`."""
        return {
            "purpose": self.purpose,
            "web_seed": self.web_seed,
            "seeds": len(self.peers),
            "peers": [shown_endpoint(peer) for peer in self.peers],
            "repeat": self.repeat,
        }


def parsed_seeds(text: str) -> tuple[int, ...]:
    """Numbers of seeds with commas between; raises `UsageError`."""
    found = []
    for word in text.split(","):
        number = word.strip()
        if not number.isascii() or not number.isdigit() or int(number) > MOST_SEEDS:
            raise UsageError(f"--seeds {text}: expected whole numbers from 0 to {MOST_SEEDS}, separated by commas")
        found.append(int(number))
    return tuple(dict.fromkeys(found))


def check_combinations(cases: Sequence[str], seeds: Sequence[int]) -> None:
    """Raises `UsageError` for a case without any download: without a web seed there must be a seed."""
    for case in cases:
        if case != PUBLIC and not any(seeds):
            raise UsageError(f"case {case}: nothing delivers without seeds: give --seeds a number above 0")


def planned(
    seeds: Sequence[int], cases: Sequence[str], repeats: int, peers: Sequence[Peer], *, capacity: bool
) -> list[Planned]:
    """All downloads in their order; numbers of seeds beyond those there are must be left out before."""
    found = _alone(cases, peers[: max(seeds, default=0)]) if capacity else []
    for repeat in range(1, repeats + 1):
        kinds = [(case, number) for case in cases for number in seeds if number or case == PUBLIC]
        random.Random(repeat).shuffle(kinds)
        found += [Planned(SWARM, case, _chosen(peers, number, repeat - 1), repeat) for case, number in kinds]
    return found


def _alone(cases: Sequence[str], peers: Sequence[Peer]) -> list[Planned]:
    """Each source by itself: what it can deliver to this place."""
    store = [Planned(CAPACITY, PUBLIC, (), 1)] if PUBLIC in cases else []
    return store + [Planned(CAPACITY, NONE, (peer,), 1) for peer in peers]


def _chosen(peers: Sequence[Peer], number: int, first: int) -> tuple[Peer, ...]:
    """So many, going round from the `first`: the most that a plan asks for are always the same."""
    return tuple(peers[(first + place) % len(peers)] for place in range(number))

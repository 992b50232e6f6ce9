"""What the replies add up to: which addresses each name has, who said so, and which resolvers lie.

A resolver lies where an address that next to no other gives for the name does not speak TLS for it (a certificate that
is trusted and has the name). One that steers its users to front ends of their own gives addresses that do.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from vmtrace.providers.discovery.question import Reply

MOST_FRONT_ENDS = 20_000
RARE_SHARE = 0.1
"""An address that more of the resolvers give is no lie of one."""
CHECKED_OF_ONE = 3
"""Rare addresses of one resolver and name that are tried."""
Pair = tuple[str, str]
"""A name and an address."""


@dataclass(slots=True)
class FrontEnd:
    """An address of a name; resolvers are their labels."""

    name: str
    address: str
    first_seen_ns: int
    last_seen_ns: int
    count: int = 0
    resolvers: set[str] = field(default_factory=set)


class FrontEnds:
    """All that were seen; bounded, whatever resolvers send."""

    def __init__(self, most: int = MOST_FRONT_ENDS) -> None:
        self._most = most
        self._found: dict[Pair, FrontEnd] = {}
        self._answering: dict[str, set[str]] = {}
        self.left_out = 0
        """Addresses beyond those kept."""

    def add(self, reply: Reply) -> None:
        """Count the addresses of a reply."""
        self.left_out += reply.addresses_left_out
        if not reply.addresses:
            return
        name, label = reply.question.name, reply.resolver.label
        self._answering.setdefault(name, set()).add(label)
        for address in reply.addresses:
            known = self._found.get((name, address))
            if known is None:
                if len(self._found) >= self._most:
                    self.left_out += 1
                    continue
                known = self._found[name, address] = FrontEnd(name, address, reply.time_ns, reply.time_ns)
            known.first_seen_ns = min(known.first_seen_ns, reply.time_ns)
            known.last_seen_ns = max(known.last_seen_ns, reply.time_ns)
            known.count += 1
            known.resolvers.add(label)

    def __len__(self) -> int:
        return len(self._found)

    def all(self) -> list[FrontEnd]:
        """In the order in which they were first seen."""
        return list(self._found.values())

    def rare(self) -> dict[str, dict[str, list[str]]]:
        """By resolver and name the addresses that next to no other gives; names that one resolver alone answers for
        have none: there is nothing to compare with."""
        found: dict[str, dict[str, list[str]]] = {}
        for one in self._found.values():
            answering = len(self._answering[one.name])
            if answering < 2 or len(one.resolvers) > max(1, int(answering * RARE_SHARE)):
                continue
            for label in one.resolvers:
                found.setdefault(label, {}).setdefault(one.name, []).append(one.address)
        return found

    def seen_by_others(self, name: str, address: str, liars: Iterable[str]) -> bool:
        """Whether a resolver that does not lie gave this address."""
        known = self._found.get((name, address))
        return known is not None and not known.resolvers <= set(liars)


def liars(
    rare: Mapping[str, Mapping[str, list[str]]],
    speaks: Callable[[list[Pair]], Mapping[Pair, bool]],
    believed: Callable[[str], bool],
) -> dict[str, list[Pair]]:
    """Resolvers of which some name's rare addresses all fail, with what they gave.

    `speaks` tries addresses; `believed` is whether any other address of a name speaks TLS for it: where none does,
    the name has no TLS service, and nobody can be caught lying.
    """
    tried = {label: [(name, address) for name, found in names.items() for address in found[:CHECKED_OF_ONE]]
             for label, names in rare.items()}  # fmt: skip
    answers = speaks(list(dict.fromkeys(pair for pairs in tried.values() for pair in pairs)))
    caught: dict[str, list[Pair]] = {}
    for label, pairs in tried.items():
        for name in dict.fromkeys(name for name, _ in pairs):
            own = [pair for pair in pairs if pair[0] == name]
            if believed(name) and not any(answers.get(pair, False) for pair in own):
                caught.setdefault(label, []).extend((name, address) for address in rare[label][name])
    return caught

"""One connection's service, and what told it: the server name it asked for, the names in the server's certificate,
the name its address was looked up by, the ranges its address is in; else nothing but the port.

A name goes before an address: a provider's address may hold anybody's service. Of names, the one the client asked for
goes first.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.findings.services.names import service_of
from vmtrace.analyze.findings.services.ranges import AddressRanges

if TYPE_CHECKING:
    from vmtrace.analyze._engine import Columns

OTHER = "other"


class Identity(NamedTuple):
    """Whom a connection went to."""

    provider: str
    service: str | None
    region: str | None
    name: str | None
    """The name that told it, or one that nobody knows."""
    identified_by: str
    """`sni`, `certificate`, `dns`, `range` or `port`."""


class Answer(NamedTuple):
    """A name with which an address was answered: what was asked for first, then its aliases."""

    answered_ns: int
    client: str
    names: tuple[str, ...]


class Answers:
    """Names by the addresses they were answered with."""

    def __init__(self, rows: Iterable[tuple[int, str, str | None, str | None, str | None]] = ()) -> None:
        """Rows of `answered_ns`, `client`, `name`, `aliases`, `address`."""
        self._by_address: dict[str, list[Answer]] = {}
        for answered_ns, client, name, aliases, address in rows:
            if address is not None and name is not None:
                names = (name, *(aliases.split(", ") if aliases else ()))
                self._by_address.setdefault(address, []).append(Answer(answered_ns, client, names))
        for answers in self._by_address.values():
            answers.sort(key=lambda answer: answer.answered_ns)

    @classmethod
    def of(cls, lookups: "Columns") -> "Answers":
        """From the engine's table of lookups."""
        columns = (lookups.values(name) for name in ("answered_ns", "client", "name", "aliases", "address"))
        return cls(zip(*columns, strict=True))

    def names_of(self, server: str, client: str, start_ns: int) -> tuple[str, ...]:
        """The names that the client knows the server's address by: of the last answer before the connection, its own
        if it had one (a host's resolver may ask for it); of a later one if there is none before."""
        answers = self._by_address.get(server, ())
        own = [answer for answer in answers if answer.client == client] or answers
        if not own:
            return ()
        before = bisect_right(own, start_ns, key=lambda answer: answer.answered_ns)
        return own[max(before - 1, 0)].names


class Facts(NamedTuple):
    """What a capture shows of a connection; both ends are `address:port`."""

    client: str
    server: str
    start_ns: int
    sni: str | None
    certificate_names: Sequence[str]


def identify(facts: Facts, answers: Answers, ranges: AddressRanges) -> Identity:
    """Tell whom a connection went to."""
    address, _, port = facts.server.rpartition(":")
    address = address.strip("[]")
    client = facts.client.rpartition(":")[0].strip("[]")
    looked_up = answers.names_of(address, client, facts.start_ns)
    shown = (
        ("sni", (facts.sni,) if facts.sni else ()),
        ("certificate", facts.certificate_names),
        ("dns", looked_up),
    )
    for by, names in shown:
        for name in names:
            service = service_of(name)
            if service is not None:
                return Identity(*service, name, by)
    named = next(((by, names[0]) for by, names in shown if names), None)
    found = ranges.service_of(address)
    if found is not None:
        return Identity(*found, named[1] if named else None, "range")
    if named is not None:
        return Identity(OTHER, None, None, named[1], named[0])
    return Identity(f"no name, port {port}", None, None, None, "port")

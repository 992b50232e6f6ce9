"""What rules share that count packets of each host: one finding for each that sent some."""

from collections import defaultdict
from collections.abc import Callable, Iterator

from vmtrace.analyze.findings.facts import CLIENT, SERVER, Facts, Record, address, ids, of_connections
from vmtrace.analyze.findings.finding import Finding
from vmtrace.formats.quantities import plural


def one_for_each_sender(
    facts: Facts, kind: str, count: Callable[[Record], int | None], *, does: str, shows: str, confidence: float
) -> Iterator[Finding]:
    """`count` gives the packets of a direction, `does` ends the sentence on them, `shows` names the evidence."""
    by_host: defaultdict[str, list[tuple[Record, int]]] = defaultdict(list)
    for one in facts.connections:
        for way, side in ((CLIENT, "client"), (SERVER, "server")):
            some = count(one.get(way) or {})
            if some:
                by_host[address(one[side])].append((one, some))
    for host, found in by_host.items():
        connections = [one for one, _ in found]
        packets = plural(sum(some for _, some in found), "packet")
        yield Finding(
            kind=kind,
            sentence=f"{packets} from {host} in {plural(len(found), 'connection')} {does}",
            confidence=confidence,
            connections=ids(connections),
            evidence=[of_connections(connections, shows)],
        )

"""ICMP told a smaller MTU: full segments did not pass until they were cut.

Rule: docs/findings.md, "Path MTU".
"""

from collections.abc import Iterator

from vmtrace.analyze.findings.facts import Facts, Record, evidence, saved_s
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import seconds
from vmtrace.formats.quantities import plural

KIND = "path_mtu"


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each connection that ICMP told."""
    for one in facts.connections:
        shown = [error for error in one.get("icmp_errors") or () if _is_too_big(error)]
        if shown and facts.is_open(KIND, one):
            yield _finding(one, shown)


def _is_too_big(error: Record) -> bool:
    return error.get("mtu") is not None or (error["type"], error["code"]) == (3, 4)


def _finding(connection: Record, told: list[Record]) -> Finding:
    cost_s = saved_s(connection, KIND)
    mtu = next((error["mtu"] for error in told if error.get("mtu")), None)
    size = f"{mtu:,} bytes" if mtu else "less than the segments"
    first = told[0]
    return Finding(
        kind=KIND,
        sentence=(
            f"Connection {connection['id']}: the path's MTU is {size}, as {plural(len(told), 'ICMP error')} from "
            f"{first['from']} said; it cost {seconds(cost_s)}."
        ),
        confidence=0.95,
        owner="path",
        cost_s=cost_s,
        waited_s=connection["duration_s"] or 0.0,
        connections=[connection["id"]],
        evidence=[evidence("ICMP errors that name a smaller MTU", [error["frame"] for error in told])],
        explains=frozenset({(KIND, connection["id"])}),
    )

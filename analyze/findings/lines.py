"""Findings for people: a line each, the costliest first. Terminal, pages and reports print these lines."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import printable, seconds, share
from vmtrace.formats.quantities import plural

MOST_LINES = 8
MOST_OF_MANY = 3
"""Of findings over many captures, which reports print among other sentences."""
_LEAST_CONFIDENCE = 0.6
"""Below it a finding is a candidate and no more: the engine's verdicts are undecided there, too."""


class Told(Protocol):
    """What a line says: of a capture's finding, or of one over several captures."""

    @property
    def sentence(self) -> str:
        """Who, what, how long."""
        ...

    @property
    def confidence(self) -> float:
        """0 to 1."""
        ...

    @property
    def cost_s(self) -> float | None:
        """What would be saved."""
        ...

    @property
    def share(self) -> float | None:
        """Of what was waited for."""
        ...


def finding_line(finding: Told) -> str:
    """Cost, sentence, confidence; the sentence of an undecided verdict says that itself."""
    cost = "no cost" if finding.cost_s is None else seconds(finding.cost_s)
    part = f" ({share(finding.share)})" if finding.share is not None else ""
    return f"{cost}{part}: {printable(finding.sentence)} Confidence {share(finding.confidence)}."


def finding_lines(findings: Sequence[Told], most: int = MOST_LINES) -> list[str]:
    """The first lines of an answer; more findings than `most` are counted."""
    lines = [f"{number}. {finding_line(one)}" for number, one in enumerate(findings[:most], 1)]
    if len(findings) > most:
        lines.append(f"and {plural(len(findings) - most, 'more finding')} of less cost (in the JSON: findings)")
    return lines


def answer_lines(findings: Sequence[Finding], document: Mapping[str, Any], connections: int) -> list[str]:
    """The same; where nothing was found, that nothing was, and what was looked at."""
    return finding_lines(findings) or [nothing_line(document, connections)]


def nothing_line(document: Mapping[str, Any], connections: int) -> str:
    """What is said where no rule found anything."""
    looked = [plural(connections, "connection")] if connections else []
    looked += [plural(len(document.get(key) or ()), one) for key, one in _LOOKED_AT if document.get(key)]
    if not looked:
        return f"Nothing in {plural(packets(document), 'packet')} could be analysed: no TCP, datagram flows or names."
    what = ", ".join(looked)
    subject = "these connections" if connections else "this traffic"
    return f"Nothing held {subject} back beyond {'their' if connections else 'its'} own size (looked at: {what})."


def packets(document: Mapping[str, Any]) -> int:
    """Frames of all inputs."""
    return sum(one.get("packets") or 0 for one in document.get("inputs") or ())


_LOOKED_AT = (("lookups", "lookup"), ("flows", "datagram flow"), ("neighbours", "neighbour"))


def concerning(findings: Sequence[Finding], connection: int) -> list[str]:
    """What findings say of one connection, with what would help."""
    lines = []
    for one in findings:
        if connection in one.connections:
            lines += [finding_line(one), f"  what would help: {one.remedy}"] if one.remedy else [finding_line(one)]
    return lines

"""All rules over the facts of a document: one list, the costliest first."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules import RULES

MOST_FINDINGS = 100


def findings(facts: Facts) -> list[Finding]:
    """What the rules find, the costliest first; then what cost nobody time, by confidence.

    What one rule explains of a connection, the rules after it leave out: a cause is reported once.
    """
    found: list[Finding] = []
    explained: set[tuple[str, int]] = set()
    for rule in RULES:
        mine = list(rule(replace(facts, explained=frozenset(explained))))
        explained.update(pair for one in mine for pair in one.explains)
        found += mine
    return sorted(found, key=_rank)[:MOST_FINDINGS]


def of_document(document: Mapping[str, Any]) -> list[Finding]:
    """The findings of a document of `vmtrace.analysis/1`."""
    return findings(Facts.of_document(document))


def _rank(one: Finding) -> tuple[bool, float, float, str, tuple[int, ...]]:
    return one.cost_s is None, -(one.cost_s or 0.0), -one.confidence, one.kind, tuple(one.connections[:1])

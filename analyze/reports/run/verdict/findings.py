"""What held the transfers of a run back: one finding for each kind and owner, the costliest first.

Joins what the transfers' accounts say, as `analyze.findings` does for the connections of a capture: the same kinds,
costs, owners, remedies and lines.

Rule: docs/verdict.md, "Findings of a run".
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from vmtrace.analyze.findings import lines
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules.causes import SECONDARY_CONFIDENCE, cost_words
from vmtrace.analyze.read.records.run import Role
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.evidence import Evidence, distinct, judged, of_transfers
from vmtrace.analyze.reports.run.verdict.judged import Judged
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, as_record, bounds
from vmtrace.formats.quantities import plural

_MOST = 20
_LEAST_SHARE = 0.01
"""Of the time of all transfers: what costs less is left out."""


class TransferNamed(TypedDict):
    """A transfer that a finding concerns."""

    sequence: Count
    role: Role


class RunFindingRecord(TypedDict):
    """What held transfers of the run back, the costliest first; the kinds are those of docs/findings.md."""

    kind: str
    sentence: str
    confidence: Share
    cost_s: Annotated[Positive | None, "By how much shorter the transfers would have been without it, all together."]
    share: Annotated[Share | None, "Of the time of all transfers that are long enough to judge."]
    owner: str
    evidence: Annotated[list[Evidence], bounds(maxItems=10)]
    remedy: str
    transfers: Annotated[list[TransferNamed], "The first 20, the costliest first.", bounds(maxItems=20)]
    transfers_count: Count


@dataclass(frozen=True, slots=True)
class RunFinding:
    """A finding, and the transfers that it concerns: sequence of the pair, and role."""

    finding: Finding
    transfers: tuple[tuple[int, str], ...]

    def as_record(self) -> dict[str, Any]:
        """As the run's document has it: transfers instead of connections, and evidence that names pair and capture."""
        record = self.finding.as_record()
        named = ("connections", "flows", "lookups")
        kept = {key: value for key, value in record.items() if key.removesuffix("_count") not in (*named, "what_if")}
        listed = [{"sequence": sequence, "role": role} for sequence, role in self.transfers[:_MOST]]
        return kept | {"transfers": listed, "transfers_count": len(self.transfers)}


def run_findings(results: RunResults) -> list[RunFinding]:
    """Over all transfers that can be judged."""
    return results.once("run_findings", lambda: _found(results))


def finding_lines(results: RunResults) -> list[str]:
    """The costliest, for people."""
    return lines.finding_lines([one.finding for one in run_findings(results)[: lines.MOST_OF_MANY]])


def _found(results: RunResults) -> list[RunFinding]:
    votes = [(one, found) for one in results.transfers if (found := judged(one)) is not None]
    time_s = sum(one.transfer.duration_s for one, _ in votes)
    groups: defaultdict[tuple[str, str], list[tuple[MeasuredTransfer, Judged, float]]] = defaultdict(list)
    for one, found in votes:
        for cost in found.costs:
            groups[cost.kind, cost.owner].append((one, found, cost.saves_s))
    made = [_finding(results, *key, group, len(votes), time_s) for key, group in groups.items()]
    kept = [one for one in made if (one.finding.cost_s or 0.0) >= _LEAST_SHARE * time_s]
    return sorted(kept, key=lambda one: (-(one.finding.cost_s or 0.0), one.finding.kind))[:_MOST]


def _finding(
    results: RunResults,
    kind: str,
    owner: str,
    group: Sequence[tuple[MeasuredTransfer, Judged, float]],
    judged_transfers: int,
    time_s: float,
) -> RunFinding:
    group = sorted(group, key=lambda one: -one[2])
    cost_s = sum(saves_s for *_, saves_s in group)
    decided = [found.confidence for _, found, _ in group if found.factor == kind and not found.is_open]
    pieces = of_transfers(results.run, [(one, found) for one, found, _ in group if found.factor == kind])
    return RunFinding(
        Finding(
            kind=kind,
            sentence=f"{len(group):,} of {plural(judged_transfers, 'transfer')}: {cost_words(kind, cost_s, time_s)}.",
            confidence=max(decided, default=SECONDARY_CONFIDENCE),
            owner=owner,
            cost_s=cost_s,
            waited_s=time_s,
            evidence=[as_record(piece) for piece in distinct(pieces)],
        ),
        tuple((one.pair.sequence, one.transfer.role) for one, *_ in group),
    )

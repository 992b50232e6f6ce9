"""A finding: one sentence with its cost, its owner, its evidence and its remedy. Keys: docs/json.md."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from vmtrace.analyze.findings.vocabulary import KINDS

Record = dict[str, Any]

MOST_LISTED = 20
"""Ids of connections, flows and lookups that a finding lists; the counts beside them are of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """See the module."""

    kind: str
    sentence: str
    confidence: float
    owner: str = ""
    remedy: str = ""
    cost_s: float | None = None
    """What would be saved without it, summed over what it concerns; None where nothing was waiting."""
    waited_s: float = 0.0
    """The time that was waited for at all in what it concerns, of which `cost_s` is a share."""
    connections: Sequence[int] = ()
    flows: Sequence[int] = ()
    lookups: Sequence[int] = ()
    evidence: Sequence[Record] = ()
    what_if: Sequence[Record] = ()
    explains: frozenset[tuple[str, int]] = field(default_factory=frozenset)
    """Kinds of connections that this says the cause of: the rules that follow do not report them again."""

    def __post_init__(self) -> None:
        """Owner and remedy are those of its kind where a rule knows nothing more of them."""
        known = KINDS.get(self.kind)
        object.__setattr__(self, "owner", self.owner or (known.owner if known else "unknown"))
        object.__setattr__(self, "remedy", self.remedy or (known.remedy if known else ""))

    @property
    def share(self) -> float | None:
        """The part of the waiting that is its cost."""
        if self.cost_s is None or self.waited_s <= 0:
            return None
        return min(1.0, self.cost_s / self.waited_s)

    def as_record(self) -> Record:
        """As the JSON document holds it."""
        share = self.share
        return {
            "kind": self.kind,
            "sentence": self.sentence,
            "confidence": round(self.confidence, 3),
            "cost_s": None if self.cost_s is None else round(self.cost_s, 9),
            "share": None if share is None else round(share, 6),
            "owner": self.owner,
            "connections": list(self.connections[:MOST_LISTED]),
            "connections_count": len(self.connections),
            "flows": list(self.flows[:MOST_LISTED]),
            "flows_count": len(self.flows),
            "lookups": list(self.lookups[:MOST_LISTED]),
            "lookups_count": len(self.lookups),
            "evidence": list(self.evidence),
            "remedy": self.remedy,
            "what_if": list(self.what_if),
        }

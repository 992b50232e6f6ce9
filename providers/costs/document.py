"""The JSON document `vmtrace.cost/1` (docs/cost.md). What is unknown is null, and named in `missing`."""

from dataclasses import asdict
from typing import Any

from vmtrace.formats.schemas import COST
from vmtrace.providers.costs.differences import Difference
from vmtrace.providers.costs.estimate import Estimate
from vmtrace.providers.costs.ledger import AGES_S, DAY_S
from vmtrace.providers.costs.quantities import Charges
from vmtrace.providers.costs.simulate import Replay

Record = dict[str, Any]


def document(
    estimate: Estimate, version: str, trace: Replay | None = None, invoiced: dict[str, list[Difference]] | None = None
) -> Record:
    """Everything that was reckoned."""
    workload = estimate.context.workload
    return {
        "schema": COST,
        "vmtrace": version,
        "sentence": estimate.sentence,
        "prices": _prices(estimate),
        "workload": asdict(workload) | {"notes": list(workload.notes)},
        "trace": None if trace is None else _trace(trace),
        "scenarios": [_scenario(estimate, one) for one in estimate.charged],
        "break_even": [asdict(one) for one in estimate.points],
        "sensitivity": [asdict(one) for one in estimate.sensitivity],
        "invoice": None if invoiced is None else [_invoice(name, rows) for name, rows in invoiced.items()],
    }


def provenance(estimate: Estimate, version: str, command: str) -> Record:
    """Where the results come from."""
    workload = estimate.context.workload.name
    return {"schema": COST, "vmtrace": version, "command": command, "workload": workload, "prices": _prices(estimate)}


def _prices(estimate: Estimate) -> Record:
    table, rates = estimate.context.table, estimate.context.rates
    return {
        "name": table.name, "source": table.source, "currency": table.currency, "gb_bytes": table.gb_bytes,
        "provider": rates.provider, "class": rates.storage_class, "region": rates.region,
    }  # fmt: skip


def _scenario(estimate: Estimate, charges: Charges) -> Record:
    scenario = charges.scenario
    return {
        "name": scenario.name,
        "kind": scenario.kind,
        "month": charges.month,
        "year": charges.year,
        "per_job": estimate.per_job(charges),
        "hit_ratio": scenario.hit_ratio,
        "byte_hit_ratio": scenario.byte_hit_ratio,
        "missing": list(charges.missing),
        "notes": list(scenario.notes),
        "lines": [asdict(line) for line in charges.lines],
    }


def _trace(found: Replay) -> Record:
    return {
        "accesses": found.rows,
        "objects": found.objects,
        "duration_s": found.occupied.duration_s,
        "months": found.months,
        "lifetimes": [
            {"at_most_days": age_s / DAY_S, "share": count / found.objects if found.objects else None}
            for age_s, count in zip(AGES_S, found.occupied.living, strict=True)
        ],
        "caches": [asdict(one) for one in found.caches],
    }


def _invoice(name: str, rows: list[Difference]) -> Record:
    return {"scenario": name, "month": [asdict(row) | {"explanations": list(row.explanations)} for row in rows]}

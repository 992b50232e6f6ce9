"""`python -m vmtrace.lab.world`: the lab world, discovered and scored; `make discovery` runs the whole of it (root)."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from vmtrace.capture.options import add_out
from vmtrace.lab import namespaces
from vmtrace.lab.world.running import Seen, look_at
from vmtrace.lab.world.score import Score, score


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.world", description=__doc__)
    add_out(parser, "where runs, report and score go", "FOLDER", required=True)
    parser.add_argument("--seed", type=int, default=1, help="of the world (default 1)")
    parser.add_argument("--sites", type=int, default=12, help="regions (default 12)")
    parser.add_argument("--per-site", type=int, default=5, help="front ends of each (default 5)")
    parser.add_argument("--resolvers", type=int, default=40, help="resolvers (default 40)")
    parser.add_argument("options", nargs="*", help="more options of vmtrace discover run, after --")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Returns 0 where everything that must hold does."""
    arguments = build_parser().parse_args(words)
    size = {name: getattr(arguments, name) for name in ("seed", "sites", "per_site", "resolvers")}
    if arguments.out.exists():
        shutil.rmtree(arguments.out)
    try:
        seen = look_at(size, arguments.out.resolve(), arguments.options)
    except (namespaces.LabUnavailableError, RuntimeError) as error:
        print(f"vmtrace: {error}", file=sys.stderr)
        return 1
    found = score_of(seen)
    (arguments.out / "score.json").write_text(json.dumps({**found.as_record(), "took_s": seen.took_s}, indent=1))
    print("\n".join(lines(found, seen.took_s)))
    return int(bool(found.failures()))


def score_of(seen: Seen) -> Score:
    """What the report and the answers are worth."""
    return score(seen.world, seen.report, _answers(seen.runs.values()))


def lines(found: Score, took_s: float) -> Iterator[str]:
    """The figures, a line each."""
    yield f"{time.strftime('%Y-%m-%d', time.gmtime())}: the whole world in {took_s:.0f} s"
    yield f"addresses found: {found.addresses_found} of {found.addresses}; of liars: {len(found.never_given)}"
    yield f"located within 150 km: {found.located_near} of {found.with_good_vantages} ({found.share_near:.1%})"
    if found.errors_km:
        middle = found.errors_km[len(found.errors_km) // 2]
        yield f"error: median {middle} km, largest {found.errors_km[-1]} km"
    yield f"lying reverse names: {found.hints_lying}, refutable {found.hints_refutable}, refuted {found.hints_refuted}"
    yield f"true reverse names refuted: {len(found.true_hints_refuted)}"
    yield f"lying resolvers set aside: {found.liars_set_aside} of {found.liars}; honest: {len(found.honest_set_aside)}"
    yield f"answerable questions unanswered: {found.answerable_unanswered} of {found.answerable}"
    yield f"steering by place seen: {found.steered_seen}"
    yield from (f"DOES NOT HOLD: {what}" for what in found.failures())


def _answers(folders: Any) -> Iterator[dict[str, Any]]:
    for folder in folders:
        with (folder / "answers.jsonl").open() as file:
            yield from map(json.loads, file)


if __name__ == "__main__":
    sys.exit(main())

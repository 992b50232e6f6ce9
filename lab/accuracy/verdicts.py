"""`python -m lab.accuracy.verdicts --out DIR`: verdicts beside what limits the transfers by construction.

Runs what is missing in the folder (root; user-mode-linux for stalls) and reads what is there. Another `--seed` draws
other parameters: those of the rules' making are no measure of them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.accuracy import gap_runs, verdict_runs
from lab.accuracy.gap_causes import analysis
from lab.accuracy.gap_truth import Place
from lab.accuracy.verdict_runs import Labelled

UNDETERMINED, NONE = "undetermined", "none"
_SURE = 0.8


@dataclass(slots=True)
class Tally:
    """Verdicts at one place: label and verdict with their number, and those that were wrong."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: int = 0
    undetermined: int = 0
    wrong: list[str] = field(default_factory=list)
    wrong_and_sure: list[str] = field(default_factory=list)

    def add(self, name: str, factors: tuple[str, ...], verdict: Mapping[str, Any] | None) -> str:
        """Counts one verdict; returns how it is called."""
        told = NONE if verdict is None else str(verdict["factor"])
        if verdict is not None and verdict["undetermined_between"]:
            told = UNDETERMINED
        self.verdicts[factors[0], told] += 1
        if told in factors:
            self.right += 1
        elif told == UNDETERMINED:
            self.undetermined += 1
        else:
            self.wrong.append(name)
            if verdict is not None and verdict["confidence"] > _SURE:
                self.wrong_and_sure.append(name)
        return told

    @property
    def all(self) -> int:
        """Verdicts counted."""
        return sum(self.verdicts.values())

    @property
    def score(self) -> float | None:
        """Share of right verdicts, those left open counted as half; none without any."""
        return (self.right + self.undetermined / 2) / self.all if self.all else None


def table(tally: Tally) -> str:
    """The confusion matrix in Markdown: labels down, verdicts across."""
    columns = sorted({told for _, told in tally.verdicts})
    labels = sorted({label for label, _ in tally.verdicts})
    lines = [f"| limited by | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for label in labels:
        cells = (str(tally.verdicts.get((label, told), "")) for told in columns)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict_of(document: Mapping[str, Any], sender: str) -> Mapping[str, Any] | None:
    """The verdict on the connection that carried most of an address's data."""

    def payload(connection: Mapping[str, Any]) -> int:
        from_client = connection["client"].rpartition(":")[0] == sender
        return int(connection["client_to_server" if from_client else "server_to_client"]["payload_bytes"])

    found: Mapping[str, Any] | None = max(document["connections"], key=payload)["verdict"]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Makes the transfers that are missing, and prints the tables; 1 if any verdict is wrong above 0.8."""
    parser = argparse.ArgumentParser(prog="python -m lab.accuracy.verdicts", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the transfers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=3, help="transfers of every kind")
    parser.add_argument("--only", default="", help="part of the names of the transfers wanted")
    parser.add_argument("--no-runs", action="store_true", help="read only what is there")
    options = parser.parse_args(arguments)
    tallies = {place: Tally() for place in Place}
    wanted = [one for one in verdict_runs.draw(options.seed, options.each) if options.only in one.name]
    for labelled, folder in _made(wanted, options.out, options.seed, no_runs=options.no_runs):
        made = gap_runs.load(folder)
        for place in Place:
            verdict = verdict_of(analysis(made.captures[place], None), made.data_sender)
            told = tallies[place].add(labelled.name, labelled.factors, verdict)
            sure = "" if verdict is None else f" {verdict['confidence']:.2f} {verdict['sentence']}"
            print(f"{labelled.name} at the {place}: {told}{sure}", flush=True)
    for place, tally in tallies.items():
        if tally.score is not None:
            print(
                f"\nat the {place}: {tally.right} of {tally.all} right, {tally.undetermined} left open, score", end=" "
            )
            print(f"{tally.score:.3f}; wrong {tally.wrong}; above {_SURE} {tally.wrong_and_sure}\n\n{table(tally)}")
    return 1 if any(tally.wrong_and_sure for tally in tallies.values()) else 0


def _made(wanted: Iterable[Labelled], out: Path, seed: int, *, no_runs: bool) -> Iterable[tuple[Labelled, Path]]:
    """Those that are there, made now if they have to be."""
    for labelled in wanted:
        folder = out / f"{labelled.name}-seed{seed}"
        if not (folder / "made.json").exists() and not no_runs:
            made = labelled.run(folder)
            if made is None:
                print(f"{labelled.name}: the machine was too busy", flush=True)
                continue
            gap_runs.save(made, folder)
        if (folder / "made.json").exists():
            yield labelled, folder


if __name__ == "__main__":
    sys.exit(main())

"""Shows in which fields two builds of the engine differ, from the outputs that `tools.engine_net --keep --all` left.

    python -m tools.engine_net_diff OLD NEW [--examples N] [--under KEY]

A line for each field of the JSON, by its path with the numbers of lists left out: how many captures and values differ,
and the first examples. Fields that only one of the builds has come last, since added keys differ everywhere.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MISSING = object()


@dataclass(slots=True)
class FieldDifference:
    """What differs in one field: captures, number of values, and examples as `capture place: old -> new`."""

    captures: set[str] = field(default_factory=set)
    values: int = 0
    examples: list[str] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the differences; 1 if there are any, 2 if there is nothing to compare."""
    parser = argparse.ArgumentParser(prog="python -m tools.engine_net_diff", description="Fields that differ.")
    parser.add_argument("old", type=Path, metavar="OLD", help="outputs of the one build")
    parser.add_argument("new", type=Path, metavar="NEW", help="outputs of the other build")
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="examples of each field (3)")
    parser.add_argument("--under", default="", metavar="KEY", help="only fields with this in their path")
    options = parser.parse_args(arguments)
    names = sorted(
        {path.name for path in options.old.glob("*.json")} & {path.name for path in options.new.glob("*.json")}
    )
    if not names:
        print("engine_net_diff: the folders have no capture in common", file=sys.stderr)
        return 2
    changed, one_sided = differences(options.old, options.new, names, options.examples)
    shown = [
        (path, one) for group in (changed, one_sided) for path, one in sorted(group.items()) if options.under in path
    ]
    for path, one in shown:
        print(f"{path}: {one.values} in {len(one.captures)} captures")
        print("".join(f"    {example}\n" for example in one.examples), end="")
    print(f"{len(names)} captures compared, {len(shown)} fields differ")
    return 1 if shown else 0


def differences(
    old: Path, new: Path, names: Sequence[str], examples: int
) -> tuple[dict[str, FieldDifference], dict[str, FieldDifference]]:
    """Fields that changed, and fields that only one of the two has, by their path."""
    changed: dict[str, FieldDifference] = defaultdict(FieldDifference)
    one_sided: dict[str, FieldDifference] = defaultdict(FieldDifference)
    for name in names:
        for path, place, before, after in compare(_read(old / name), _read(new / name)):
            group = one_sided if before is _MISSING or after is _MISSING else changed
            found = group[path]
            found.captures.add(name)
            found.values += 1
            if len(found.examples) < examples:
                found.examples.append(f"{name} {place}: {_short(before)} -> {_short(after)}")
    return dict(changed), dict(one_sided)


def compare(before: Any, after: Any, path: str = "", place: str = "") -> Iterator[tuple[str, str, Any, Any]]:
    """Path without numbers, place with them, and both values, for each leaf in which two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(key for key in after if key not in before)]:
            values = before.get(key, _MISSING), after.get(key, _MISSING)
            yield from compare(*values, f"{path}.{key}" if path else key, f"{place}.{key}" if place else key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, values in enumerate(zip(before, after, strict=True)):
            yield from compare(*values, f"{path}[]", f"{place}[{index}]")
    elif before != after:
        yield path, place, before, after


def _read(path: Path) -> Any:
    text = path.read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        # A refusal of the capture, in words.
        return text


def _short(value: Any) -> str:
    text = "(none)" if value is _MISSING else json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}..."


if __name__ == "__main__":
    sys.exit(main())

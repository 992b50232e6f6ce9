"""What limits a transfer is declared in a file of its own: elsewhere in the engine few lines may name a single factor.

A factor that is named in many rooms is known to all of them, and one more of its kind would have to be told to each.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.rust_source import product

SOURCES = Path(__file__).parents[2] / "analyze/engine/core/src"
# The list of the factors, and a file for each.
OWN = ("tcp/events/factor.rs", "tcp/verdict/factors/")
# To be lowered with each that goes, never raised.
MOST = 23
NAMED = re.compile(r"\bFactor::[A-Z][a-z]\w*")


def named_elsewhere(files: Mapping[str, str]) -> dict[str, int]:
    """How often each file names a single factor, without its tests; those of the factors' own are left out."""
    counts = {path: len(NAMED.findall(product(text))) for path, text in files.items() if not path.startswith(OWN)}
    return {path: count for path, count in counts.items() if count}


def test_few_lines_name_a_factor_outside_of_its_own_file() -> None:
    counts = named_elsewhere({path.relative_to(SOURCES).as_posix(): path.read_text() for path in SOURCES.rglob("*.rs")})
    shown = ", ".join(f"{path} {count}" for path, count in sorted(counts.items(), key=lambda each: -each[1])[:8])
    assert sum(counts.values()) <= MOST, f"one more file knows a single factor; most: {shown}"
    assert sum(counts.values()) == MOST, "fewer than the bound: lower MOST"


def test_names_are_counted_outside_of_tests_and_own_files() -> None:
    files = {
        "tcp/limits/judge.rs": "let all = Factor::ALL; f(Factor::Idle);\n#[cfg(test)]\nmod tests { f(Factor::Idle); }",
        "tcp/verdict/factors/idle.rs": "Factor::Idle",
        "tcp/limits/rules.rs": "factor.name()",
    }
    assert named_elsewhere(files) == {"tcp/limits/judge.rs": 1}

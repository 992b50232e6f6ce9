"""Factors: documents and pictures have those that the engine declares, in its order."""

import re
from pathlib import Path

from vmtrace.analyze._engine import factors
from vmtrace.analyze.words.factors import COLUMN_LABELS, FACTORS, IN_WORDS, LABELS, in_words, label_by_sentence
from vmtrace.analyze.words.palette import FACTORS as LOOKS

ROOT = Path(__file__).parents[2]
NAMES = [name for name, _, _ in factors()]


def test_documents_list_exactly_the_factors_of_the_engine() -> None:
    verdict = (ROOT / "docs/verdict.md").read_text()
    table = verdict[verdict.index("| factor | in words |") :].partition("\n\n")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(NAMES)


def test_each_factor_has_words_and_a_look_of_its_own() -> None:
    assert list(LOOKS) == NAMES == list(IN_WORDS)
    assert [name for name in NAMES if name not in FACTORS] == ["idle"]
    assert len(set(LOOKS.values())) == len(set(IN_WORDS.values())) == len(NAMES)
    assert in_words(["slow_start", "not_known_here"]) == "slow start or not known here"


def test_labels_are_those_of_the_engine_and_differ() -> None:
    assert list(LABELS) == list(COLUMN_LABELS) == NAMES
    assert len(set(LABELS.values())) == len(set(COLUMN_LABELS.values())) == len(NAMES)
    assert max(map(len, COLUMN_LABELS.values())) <= 18


def test_a_sentence_shows_what_kept_a_window_small() -> None:
    said = "Losses kept the congestion window small (1.00 % lost): it allowed 2.0 Mbit/s"
    assert label_by_sentence("congestion_window", said) == "loss"
    assert label_by_sentence("congestion_window", None) is None
    assert label_by_sentence("setup", said) is None

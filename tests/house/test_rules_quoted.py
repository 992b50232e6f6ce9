"""Rules and documents meet: each rule has a heading in a document, which exactly one source file quotes.

A heading of the third level in `docs/methods.md`, `docs/verdict.md` and `docs/findings.md` is a
rule. A source file quotes it in a comment or docstring as `Rule: docs/verdict.md, "Receiver's window"`.
"""

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["docs/methods.md", "docs/verdict.md", "docs/findings.md"]
MOST_WORDS = 25

Rule = tuple[str, str]
"""A document and a heading in it."""


def rules_of(document: str, text: str) -> list[Rule]:
    return [(document, heading) for heading in re.findall(r"^### (.+)$", text, re.MULTILINE)]


def quotes_of(text: str) -> set[Rule]:
    """The headings that a source file quotes in its comments; one may continue in the next line."""
    joined = re.sub(r"\n\s*(?://[/!]?|#)?\s*", " ", text)
    return set(re.findall(r'Rule: (docs/\w+\.md), "([^"]+)"', joined))


def unquoted(rules: list[Rule], quotes: dict[str, set[Rule]]) -> list[Rule]:
    """Rules that no source file quotes."""
    return [rule for rule in rules if not any(rule in found for found in quotes.values())]


def quoted_twice(quotes: dict[str, set[Rule]]) -> dict[Rule, list[str]]:
    """Rules that more than one source file quotes, with these files."""
    times = Counter(rule for found in quotes.values() for rule in found)
    return {rule: [name for name in quotes if rule in quotes[name]] for rule, count in times.items() if count > 1}


def unknown_quotes(rules: list[Rule], quotes: dict[str, set[Rule]]) -> list[tuple[str, Rule]]:
    """Quotes that name no rule."""
    return [(name, rule) for name, found in quotes.items() for rule in sorted(found - set(rules))]


def without_when(document: str, text: str) -> list[Rule]:
    """Rules that do not say when they hold."""
    parts = re.split(r"^#{1,3} ", text, flags=re.MULTILINE)
    titles = {title for _, title in rules_of(document, text)}
    heads = [(part.partition("\n")[0], part) for part in parts]
    return [(document, title) for title, part in heads if title in titles and "\nWhen:\n" not in part]


def long_cells(text: str) -> list[str]:
    """Table cells of more words than a phrase has."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    return [cell for cell in cells if len(cell.split()) > MOST_WORDS]


def documented() -> list[Rule]:
    return [rule for name in DOCUMENTS for rule in rules_of(name, (ROOT / name).read_text())]


def quoted() -> dict[str, set[Rule]]:
    sources = [*ROOT.glob("analyze/engine/*/src/**/*.rs"), *ROOT.glob("analyze/**/*.py")]
    found = {str(source.relative_to(ROOT)): quotes_of(source.read_text()) for source in sorted(set(sources))}
    return {name: rules for name, rules in found.items() if rules}


def test_every_rule_is_quoted_by_exactly_one_source_file() -> None:
    assert len(documented()) > 100
    assert unquoted(documented(), quoted()) == []
    assert quoted_twice(quoted()) == {}


def test_every_quote_names_a_rule() -> None:
    assert unknown_quotes(documented(), quoted()) == []


def test_no_two_rules_of_a_document_have_one_name() -> None:
    assert [rule for rule, count in Counter(documented()).items() if count > 1] == []


def test_every_rule_says_when_it_holds() -> None:
    assert [rule for name in DOCUMENTS for rule in without_when(name, (ROOT / name).read_text())] == []


def test_no_table_cell_is_longer_than_a_phrase() -> None:
    assert {name: long_cells((ROOT / name).read_text()) for name in DOCUMENTS} == {name: [] for name in DOCUMENTS}


def test_made_up_faults_are_found() -> None:
    """One rule without a quote, one with two, one quote of nothing, one rule without a list, one long cell."""
    text = "## Part\n\n### Rain\n\nWhen:\n* It rains.\n\n### Snow\n\nNothing.\n\n| a | " + "word " * 26 + "|\n"
    rules = rules_of("docs/weather.md", text)
    rain, snow, hail = (("docs/weather.md", name) for name in ("Rain", "Snow", "Hail"))
    quotes = {
        "a.rs": quotes_of('//! Rule: docs/weather.md,\n//! "Rain".\n//! Rule: docs/weather.md, "Hail".'),
        "b.py": quotes_of('"""Rule: docs/weather.md, "Rain"."""'),
    }
    assert rules == [rain, snow]
    assert unquoted(rules, quotes) == [snow]
    assert quoted_twice(quotes) == {rain: ["a.rs", "b.py"]}
    assert unknown_quotes(rules, quotes) == [("a.rs", hail)]
    assert without_when("docs/weather.md", text) == [snow]
    assert len(long_cells(text)) == 1


def test_faultless_input_passes() -> None:
    text = "### Rain\n\nWhen:\n* It rains.\n\n| a | " + "word " * 25 + "|\n"
    rules = rules_of("docs/weather.md", text)
    quotes = {"a.rs": quotes_of('/// Rule: docs/weather.md, "Rain".')}
    assert [unquoted(rules, quotes), quoted_twice(quotes), unknown_quotes(rules, quotes)] == [[], {}, []]
    assert [without_when("docs/weather.md", text), long_cells(text)] == [[], []]

"""Fields are described once: each has a path of its own, and a sentence that says when it is missing."""

from vmtrace.analyze.tables.fields import Field, sections


def test_no_path_is_described_twice() -> None:
    paths = [(section.name, field.path) for section in sections() for field in section.fields]
    assert len(paths) == len(set(paths))


def test_a_sentence_has_meaning_values_and_when_it_is_null() -> None:
    field = Field("x", "word", "which one", null="if none", values=("a", "b"))
    assert field.sentence == "which one; one of `a`, `b`; null if none"
    assert field.plain == "which one; one of a, b; null if none"

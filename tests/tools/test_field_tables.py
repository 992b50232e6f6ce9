"""Fields of one meaning share a row; what is left out has its mark."""

from tools.field_tables import table
from vmtrace.analyze.tables.fields import Field, Section


def test_fields_of_one_meaning_are_one_row() -> None:
    fields = (
        Field("first_s", "number", "of both", "s"),
        Field("second_bytes", "integer", "of both", "bytes"),
        Field("third", "text", "the other", there="if_known", values=("a", "b")),
    )
    assert table(Section("made_up", ("",), fields)).splitlines()[2:] == [
        "| `first_s`, `second_bytes` | s, bytes | of both |",
        "| `third` | | † the other; one of `a`, `b` |",
    ]

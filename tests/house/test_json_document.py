"""Each field is described once: schema, documents and `vmtrace fields` have it from there, a made-up one, too."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from tools.field_tables import DOCUMENTS, written
from vmtrace.analyze.tables import fields
from vmtrace.analyze.tables.fields import Field, Section, sections
from vmtrace.analyze.tables.schema import analysis, load
from vmtrace.command_line import run
from vmtrace.errors import CommandError

KINDS = {
    "integer": int, "instant": int, "number": (int, float), "text": str, "flag": bool, "texts": list, "integers": list,
    "instants": list, "counts": dict, "reasons": dict, "object": dict, "records": list,
}  # fmt: skip


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_tables_of_documents_are_those_of_the_list(document: Path) -> None:
    assert document.read_text() == written(document.read_text()), "make docs-write"


def test_every_section_has_its_table() -> None:
    texts = "".join(document.read_text() for document in DOCUMENTS)
    assert [section.name for section in sections() if f"<!-- fields: {section.name} -->" not in texts] == []


def test_kinds_and_presence_are_known_ones() -> None:
    all_fields = [field for section in sections() for field in section.fields]
    assert len(all_fields) > 250
    assert {field.kind for field in all_fields} <= set(KINDS)
    assert all(field.meaning and not field.meaning.endswith(".") for field in all_fields)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field that the engine has here alone: measured, and described, nothing else."""
    field = Field("made_up_bps", "number", "what was made up", "bit/s", null="if it was not")
    engine = fields.sections()
    more = [replace(one, fields=(*one.fields, field)) if one.name == "rtt" else one for one in engine]
    monkeypatch.setattr(fields, "sections", lambda: tuple(more))
    # Imported above: a module that is imported while `fields` is patched would keep the made-up field for good.
    monkeypatch.setattr(analysis, "sections", lambda: tuple(more))
    monkeypatch.setattr("tools.field_tables.sections", lambda: tuple(more))


@pytest.mark.usefixtures("made_up")
def test_a_made_up_field_shows_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert "| `made_up_bps` | bit/s | what was made up; null if it was not |\n" in written(DOCUMENTS[0].read_text())
    schema = load()
    assert schema["$defs"]["rtt"]["properties"]["made_up_bps"]["type"] == ["number", "null"]
    assert "made_up_bps" in schema["$defs"]["rtt"]["required"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert run(["fields", "made_up"]) == 0
    said = capsys.readouterr().out
    assert said == "connections[].client_to_server.rtt.made_up_bps  [bit/s]\n    what was made up; null if it was not\n"


def test_fields_are_found_by_path_and_by_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fields", "--json", "server_to_client_rtt_min_s"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    assert (found["path"], found["unit"]) == ("connections[].client_to_server.rtt.min_s", "s")
    with pytest.raises(CommandError, match="try a shorter part"):
        run(["fields", "no_such_field"])


def test_sections_of_python_are_read_from_one_place() -> None:
    assert [one.name for one in sections()].count("document") == 1
    assert isinstance(sections()[0], Section)

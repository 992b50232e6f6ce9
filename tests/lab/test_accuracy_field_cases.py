"""Kinds of captures that mislead analysers: vmtrace is right on each, and the table of the document has them all.

Subjects: `lab/accuracy/field_cases.py`, `lab/accuracy/field_talk.py`.
"""

import shutil
from pathlib import Path

import pytest

from vmtrace.lab.accuracy import field_cases
from vmtrace.lab.accuracy.field_cases import CASES, Case
from vmtrace.lab.accuracy.strangers import read_document
from vmtrace.lab.accuracy.study import DOCUMENT


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.name))
def test_vmtrace_is_right_on_each_kind(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "case.pcap"
    case.make().write(path)
    document = read_document(path)
    assert document is not None
    (record,) = document["connections"]
    assert case.holds(record), field_cases.vmtrace_says(document)


def test_the_document_has_each_kind_and_no_wrong_answer() -> None:
    text = DOCUMENT.read_text().split("field-cases: begin")[1].split("field-cases: end")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [case.name for case in CASES]
    assert "**" not in text


@pytest.mark.skipif(not shutil.which("tshark") or not shutil.which("tcptrace"), reason="tshark or tcptrace is missing")
def test_the_table_has_an_answer_of_each_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_cases, "CASES", CASES[1:2])
    (row,) = [line for line in field_cases.table(tmp_path) if line.startswith("| one segment")]
    _, right, own, tshark, tcptrace = row.split(" | ")
    assert ("1 unacceptable" in own, "one unacceptable" in right) == (True, True)
    assert "59 retransmitted" in tshark
    assert "out of order" in tcptrace

"""Questions over results: what is answered, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.corpus.test_commands import files_in
from vmtrace.cli import run


def test_questions_are_answered_and_wrong_ones_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files_in(tmp_path / "in")
    out = str(tmp_path / "out")
    assert run(["corpus", "analyze", str(tmp_path / "in"), "--out", out, "--quiet", "--memory", "256MiB"]) == 0
    assert run(["corpus", "query", out, "SELECT close, count(*) AS n FROM connections GROUP BY 1 ORDER BY 1"]) == 0
    assert capsys.readouterr().out.split() == ["close", "n", "fin", "37", "reset", "3"]
    assert run(["corpus", "query", out, "SELECT sum(syn) AS syn FROM syns", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"syn": 40}
    for question, what in (
        ("SELECT nothing FROM connections", "SQL error"),
        ("COPY connections TO 'x.csv'", "SQL error"),
        (f"SELECT * FROM read_text('{tmp_path}/in/cap-000.pcap')", "SQL error"),
    ):
        assert run(["corpus", "query", out, question]) == 1
        assert what in capsys.readouterr().err
    assert run(["corpus", "query", str(tmp_path / "none"), "SELECT 1"]) == 1
    assert "no results of vmtrace corpus analyze are here" in capsys.readouterr().err
    page = (tmp_path / "out/report.html").read_text()
    assert "Causes by host pair and hour" in page
    assert "cap-002.pcap" in page

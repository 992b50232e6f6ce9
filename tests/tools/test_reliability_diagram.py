"""The diagram of confidences is drawn from what the lab measured, the same for the same numbers."""

import json
from pathlib import Path

import pytest

from tools.reliability_diagram import chart, main

BINS = [
    {"confidence": 0.75, "share": 0.8, "interval": [0.7, 0.9], "count": 50},
    {"confidence": 0.95, "share": 0.98, "interval": [0.95, 0.99], "count": 200},
]


def test_every_bin_is_a_point_in_percent() -> None:
    (panel,) = chart(BINS).panels
    (share,) = [one for one in panel.series if one.name == "share right"]
    assert list(zip(share.x, share.y, strict=True)) == [(75.0, 80.0), (95.0, 98.0)]
    assert share.labels == ("50 verdicts", "200 verdicts")
    assert panel.note == "250 verdicts"


def test_equal_numbers_give_an_equal_file(tmp_path: Path) -> None:
    measured = tmp_path / "confidence.json"
    measured.write_text(json.dumps({"bins": BINS}))
    assert [main([str(measured), str(tmp_path / name)]) for name in ("a.svg", "b.svg")] == [0, 0]
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "<svg" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize("content", ["", "{}", '{"bins": []}', "[]"])
def test_without_numbers_one_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    measured = tmp_path / "confidence.json"
    measured.write_text(content)
    assert main([str(measured), str(tmp_path / "a.svg")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "a.svg").exists()

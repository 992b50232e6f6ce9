"""The engine says what it said when its output was frozen; a difference is found and named."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tools import engine_net
from tools.engine_net import Hashes, Outputs, outputs_of, read_hashes, write_hashes

SAMPLES = engine_net.ROOT / "samples"


def test_the_output_is_the_frozen_one(capsys: pytest.CaptureFixture[str]) -> None:
    status = engine_net.main([])
    said = capsys.readouterr().out
    assert status == 0, said
    assert "not frozen" not in said, "make net-freeze"


def test_every_sample_and_generated_capture_is_frozen() -> None:
    known = read_hashes().keys()
    assert {path.name for path in SAMPLES.glob("*.pcap*")} <= known
    assert set(engine_net.BENCH) <= {Path(name).stem for name in known}


@pytest.fixture
def one_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only capture there is, frozen in a file of its own."""
    path = tmp_path / "captures/tls12.pcap"
    path.parent.mkdir()
    path.write_bytes((SAMPLES / "tls12.pcap").read_bytes())
    monkeypatch.setattr(engine_net, "captures", lambda *_: [path])
    monkeypatch.setattr(read_hashes, "__defaults__", (tmp_path / "hashes.txt",))
    hashes = outputs_of(path).hashes(path.name)
    write_hashes({path.name: hashes}, tmp_path / "hashes.txt")
    return path


def test_a_capture_that_differs_is_named_and_its_outputs_are_kept(
    one_capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert engine_net.main([]) == 0
    data = bytearray(one_capture.read_bytes())
    (seconds,) = struct.unpack_from("<I", data, 24)
    struct.pack_into("<I", data, 24, seconds - 1)
    one_capture.write_bytes(data)
    assert engine_net.main(["--keep", str(tmp_path / "kept")]) == 1
    assert "tls12.pcap differs in JSON, rows, tables" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {
        f"tls12.pcap.{kind}" for kind in ("json", "rows", "tables")
    }


@pytest.mark.parametrize(("field", "name"), [("json", "JSON"), ("rows", "rows"), ("tables", "tables")])
def test_each_output_has_a_hash_of_its_own(field: str, name: str) -> None:
    outputs = Outputs("{}", "rows", "tables")
    changed = replace(outputs, **{field: "other"})
    assert outputs.hashes("x").differing(changed.hashes("x")) == [name]


def test_the_folder_of_a_capture_makes_no_difference(tmp_path: Path) -> None:
    copy = tmp_path / "zero-window.pcap"
    copy.write_bytes((SAMPLES / copy.name).read_bytes())
    assert outputs_of(copy) == outputs_of(SAMPLES / copy.name)


def test_a_refusal_is_an_output_too(tmp_path: Path) -> None:
    path = tmp_path / "no.pcap"
    path.write_text("this is no capture at all")
    assert "TraceError" in outputs_of(path).json
    assert str(tmp_path) not in outputs_of(path).json


def test_hashes_are_read_as_they_were_written(tmp_path: Path) -> None:
    hashes = {name: Hashes(name, "1", "2", "3") for name in ("b", "a")}
    write_hashes(hashes, tmp_path / "x.txt")
    assert read_hashes(tmp_path / "x.txt") == hashes
    assert [line.split()[0] for line in (tmp_path / "x.txt").read_text().splitlines()] == ["#", "a", "b"]


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert engine_net.main(["--captures", str(tmp_path / "none")]) == 2

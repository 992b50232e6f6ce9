"""A table says where it comes from, and a file that does not is refused in one line."""

from __future__ import annotations

import dataclasses
import platform
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.provenance import provenance
from vmtrace.formats.provenance import Provenance, read_columns, read_table, vmtrace_version

KNOWN = Provenance("vmtrace.host/1", "0.3.0", "vm-1", "6.1.0", "tsc", True, "vmtrace send far --out run", 1.0)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_header_is_the_documented_one() -> None:
    assert KNOWN.header() == (
        "# schema: vmtrace.host/1\n# vmtrace: 0.3.0\n# host: vm-1\n# kernel: 6.1.0\n# clock_source: tsc\n"
        "# clock_synchronised: true\n# command: vmtrace send far --out run\n# interval_s: 1.0\n"
    )


def test_a_table_comes_back_with_its_provenance_and_without_a_torn_row(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "t.csv", KNOWN.header() + "time_ns,load_1min\n1,0.5\n2,\n3,0."), KNOWN.schema)
    assert table.provenance == KNOWN
    assert table.columns == ("time_ns", "load_1min")
    assert table.rows == (("1", "0.5"), ("2", ""))
    assert read_columns(tmp_path / "t.csv", KNOWN.schema) == table.columns


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time_ns,load\n1,2\n", "no '# schema: ...' line at its start"),
        ("", "no '# schema: ...' line at its start"),
        (KNOWN.header().replace("# kernel: 6.1.0\n", "") + "a\n", "no '# kernel: ...' line"),
        (KNOWN.header(), "no line of column names"),
        (KNOWN.header().replace("host/1", "tcpinfo/1") + "a\n", "'vmtrace.tcpinfo/1', expected 'vmtrace.host/1'"),
        (KNOWN.header().replace("true", "maybe") + "a\n", "provenance with 'maybe'"),
        (KNOWN.header().replace("1.0\n", "often\n") + "a\n", "'often'"),
        (KNOWN.header() + "a,b\n1,2\n1\n", "line 11 has 1 cells, expected 2"),
    ],
)
def test_any_other_file_is_refused_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r"t\.csv: ") as caught:
        read_table(written(tmp_path / "t.csv", text), "vmtrace.host/1")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_known_is_null(tmp_path: Path) -> None:
    unknown = dataclasses.replace(KNOWN, clock_source=None, clock_synchronised=None, interval_s=None)
    assert "# clock_source: null\n# clock_synchronised: null\n" in unknown.header()
    assert read_table(written(tmp_path / "t", unknown.header() + "a\n"), unknown.schema).provenance == unknown


@given(command=st.text(max_size=40), host=st.text(max_size=10))
def test_no_text_breaks_the_header(tmp_path_factory: pytest.TempPathFactory, command: str, host: str) -> None:
    odd = dataclasses.replace(KNOWN, command=command, host=host)
    path = written(tmp_path_factory.mktemp("odd") / "t", odd.header() + "a\n")
    back = read_table(path, odd.schema).provenance
    assert len(back.command) == len(command)
    assert back.command == "".join(letter if letter.isprintable() else " " for letter in command)


@given(st.text())
def test_any_text_is_a_table_or_a_value_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "t"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ValueError, match=r"t: "):
        read_table(path, "vmtrace.host/1")


def test_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/vmtrace", "send", "far"])
    here = provenance("vmtrace.host/1", 1.0)
    assert (here.kernel, here.host, here.vmtrace) == (platform.release(), platform.node(), vmtrace_version())
    assert here.command == "/usr/bin/vmtrace send far"
    assert provenance("s", None, "by hand").command == "by hand"


def test_a_program_that_was_copied_carries_its_version_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pkgutil.get_data",
        lambda package, name: b"1.2.3\n" if (package, name) == ("vmtrace.formats", "VERSION") else None,
    )
    assert vmtrace_version() == "1.2.3"

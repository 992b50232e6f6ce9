"""Files that a user names are read within bounds; whatever is wrong is one line that names them."""

from pathlib import Path

import pytest

from vmtrace.providers.errors import UsageError
from vmtrace.providers.toml_file import load, parsed, refuse_unknown


def read(path: Path) -> dict[str, object]:
    return load(path, "things mine", "a TOML file", lambda data: parsed(data, "table of things"))


def test_a_file_is_read_as_its_table(tmp_path: Path) -> None:
    (tmp_path / "things.toml").write_text('[one]\nname = "é"\n')
    assert read(tmp_path / "things.toml") == {"one": {"name": "é"}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"#" * (2 << 20), r"larger than 1 MiB: this is no table of things"),
        (b'a = "\xff"', r"byte 5: not UTF-8 text"),
        (b"a = " + b"[" * 50_000, r"nested too deeply"),
        (b"a = \n", r"Invalid value \(at line 1, column 5\)"),
    ],
    ids=["too large", "not text", "too deep", "not TOML"],
)
def test_what_is_no_table_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "things.toml").write_bytes(content)
    with pytest.raises(UsageError, match=f"^things mine: {reason}$"):
        read(tmp_path / "things.toml")


def test_a_file_that_is_not_there_is_reported_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^things mine: No such file or directory \(a TOML file\)$"):
        read(tmp_path / "things.toml")


def test_a_key_that_is_misspelt_is_reported_with_the_one_that_was_meant() -> None:
    refuse_unknown({"repeat": 1}, ("repeat", "wait"), "the plan")
    with pytest.raises(ValueError, match=r"^the plan: 'repaet' is unknown: did you mean repeat\?$"):
        refuse_unknown({"repaet": 1}, ("repeat", "wait"), "the plan")
    with pytest.raises(ValueError, match=r"^the plan: 'x' is unknown: known are repeat, wait$"):
        refuse_unknown({"x": 1}, ("repeat", "wait"), "the plan")

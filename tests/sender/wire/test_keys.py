import hmac
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.wire.keys import KEY_BYTES, derive, key_from_text, load_key, write_new_key


def test_a_new_key_is_its_owners_alone_and_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_new_key(path)
    text = path.read_text().strip()
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_key(str(path)) == bytes.fromhex(text)
    with pytest.raises(FileExistsError):
        write_new_key(path)
    assert path.read_text().strip() == text


def test_a_key_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as raised:
        write_new_key(tmp_path / "key")
    assert raised.value.filename == str(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_the_key_comes_from_the_environment_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMTRACE_KEY", "a" * 64)
    assert load_key(None) == b"\xaa" * KEY_BYTES
    monkeypatch.delenv("VMTRACE_KEY")
    with pytest.raises(ValueError, match="no key: give --key-file FILE, or set VMTRACE_KEY"):
        load_key(None)


def test_a_key_that_others_may_read_is_used_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    path.write_text("0" * 64)
    path.chmod(0o644)
    load_key(str(path))
    assert capsys.readouterr().err == f"vmtrace: warning: {path}: others may read this key: chmod 600 {path}\n"


@given(st.text(max_size=200))
def test_any_text_is_a_key_or_refused_without_showing_it(text: str) -> None:
    try:
        assert len(key_from_text(text, "F")) == KEY_BYTES
    except ValueError as error:
        assert str(error).startswith("F: not a key: it has 64 hexadecimal digits")  # noqa: PT017


@given(st.lists(st.binary(max_size=8), max_size=4), st.lists(st.binary(max_size=8), max_size=4))
def test_no_two_contexts_give_the_same_key(one: list[bytes], other: list[bytes]) -> None:
    assert (derive(b"k", b"l", *one) == derive(b"k", b"l", *other)) == (one == other)


def test_a_key_is_derived_of_parts_with_four_bytes_of_length() -> None:
    """As another build derives it."""
    message = b"\0\0\0\5label\0\0\0\2ab\0\0\0\0"
    assert derive(bytes(32), b"label", b"ab", b"") == hmac.digest(bytes(32), message, "sha256")


def test_who_alone_can_read_the_key_is_not_warned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    write_new_key(path)
    load_key(str(path))
    assert capsys.readouterr().err == ""
    path.chmod(0o640)
    load_key(str(path))
    assert "others may read this key" in capsys.readouterr().err

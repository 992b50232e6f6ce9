"""The lines after a command, whoever prints them."""

from pathlib import Path

from vmtrace.capture.afterwards import afterwards, browse, command


def test_lines_are_one_form(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    lines = afterwards([tmp_path / "a b.html", tmp_path / "tables", "-"], command("vmtrace", "report", "a b"))
    assert lines == [f"wrote: {tmp_path}/a b.html", f"       {tmp_path}/tables/", "next:  vmtrace report 'a b'"]
    assert afterwards(["-"]) == []
    assert afterwards(["tables", "page.html", "tables"]) == ["wrote: tables", "       page.html"], "each once"
    assert afterwards(["a\x1b[2J"]) == ["wrote: a?[2J"]
    assert browse("a b").endswith("open 'a b'")

"""A measurement replaces its own block of the page and nothing else."""

from pathlib import Path

import pytest

from bench import document


def test_only_the_named_block_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# a\n<!-- one: begin -->\nold\n<!-- one: end -->\nb\n<!-- two: begin -->\nkept\n<!-- two: end -->\n"
    )
    document.write_block("one", "new", page)
    assert page.read_text() == (
        "# a\n<!-- one: begin -->\nnew\n<!-- one: end -->\nb\n<!-- two: begin -->\nkept\n<!-- two: end -->\n"
    )


def test_a_page_without_the_block_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# a\n")
    with pytest.raises(ValueError, match="unpack"):
        document.write_block("one", "new", page)
    assert page.read_text() == "# a\n"


def test_the_place_of_a_measurement_has_commit_machine_and_load() -> None:
    assert all(word in document.where("best of 3.") for word in ("commit", "processors", "load", "best of 3."))


@pytest.mark.parametrize("name", ["measured", "recording", "transfers", "campaign"])
def test_the_page_has_a_block_for_each_bench(name: str) -> None:
    page = document.DOCUMENT.read_text()
    assert page.count(f"<!-- {name}: begin -->") == page.count(f"<!-- {name}: end -->") == 1

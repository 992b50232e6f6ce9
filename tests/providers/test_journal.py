"""The journal: whatever happens, what may be at the service is known."""

from pathlib import Path

import pytest

from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.journal import NAME, Journal, Outstanding, outstanding


def test_what_was_created_and_not_removed_is_outstanding(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.creating_container("box")
        journal.created_container("box")
        journal.creating(["a", "b", "c"])
        journal.created("b", "id-of-b")
        journal.removed(["a"])
    assert outstanding(tmp_path) == Outstanding({"b": "id-of-b", "c": "c"}, "box", made=3)


def test_a_container_that_was_only_about_to_be_made_is_outstanding(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.creating_container("box")
    assert outstanding(tmp_path).container == "box"
    with Journal(tmp_path) as journal:
        journal.removed_container("box")
    assert outstanding(tmp_path) == Outstanding({}, None)


def test_a_line_torn_by_a_crash_is_left_out_and_the_next_begins_anew(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.creating(["a"])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes() + b'{"what": "remo')
    assert outstanding(tmp_path).objects == {"a": "a"}
    with Journal(tmp_path) as journal:
        journal.creating(["b"])
    assert outstanding(tmp_path).objects == {"a": "a", "b": "b"}


def test_no_journal_is_nothing_outstanding_and_a_damaged_one_is_reported(tmp_path: Path) -> None:
    assert outstanding(tmp_path) == Outstanding({}, None)
    (tmp_path / NAME).write_text('{"what": "creating"}\n')
    with pytest.raises(ProvidersError, match="line 1 is damaged"):
        outstanding(tmp_path)

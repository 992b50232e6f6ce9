"""Names of documents: one of another kind, of another version, or without a name is refused in words."""

import json
from pathlib import Path

import pytest

from vmtrace.formats.run_state import RunStateError, read_run_state
from vmtrace.formats.schemas import RUN, STORAGE_RUN, trouble


def test_the_name_that_is_wanted_is_no_trouble() -> None:
    assert trouble(RUN, RUN, "vmtrace send") is None


def test_another_version_is_told_from_another_kind() -> None:
    assert trouble("vmtrace.run/2", RUN, "vmtrace send") == "it is vmtrace.run/2, and this vmtrace reads vmtrace.run/1"
    assert trouble(STORAGE_RUN, RUN, "vmtrace send") == "not a run of vmtrace send (vmtrace.storage_run/1)"
    assert trouble(None, RUN, "vmtrace send") == "not a run of vmtrace send (it has no schema)"
    assert trouble(3, RUN, "vmtrace send") == "not a run of vmtrace send (3)"


def test_a_later_version_of_run_json_is_refused_by_its_writer(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema": "vmtrace.storage_run/2"}))
    with pytest.raises(RunStateError, match=r"run\.json: it is vmtrace\.storage_run/2, and this vmtrace reads"):
        read_run_state(tmp_path, STORAGE_RUN, "vmtrace storage")

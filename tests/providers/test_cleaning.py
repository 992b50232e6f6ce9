"""`vmtrace storage clean`: after a crash, all that is left at the service goes, and only that."""

import json
from pathlib import Path

import pytest

from tests.providers.fakes import Memory
from vmtrace.providers.cleaning import clean_run
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.journal import Journal
from vmtrace.providers.run_folder import RunFolder


@pytest.fixture
def killed(memory: Memory, tmp_path: Path) -> Path:
    """The folder of a run that was killed in the middle of an upload."""
    path = tmp_path / "run"
    state = {"id": "f00", "provider": "fake", "container": "box", "status": "running", "options": {}}
    folder = RunFolder.create(path, state)
    with Journal(path) as journal:
        journal.creating_container("box")
        journal.creating(["vmtrace-f00/0001/00001", "vmtrace-f00/0001/00002"])
    folder.close()
    (path / "files").mkdir()
    memory.containers["box"] = {"vmtrace-f00/0001/00001": b"x"}
    return path


def test_everything_goes_and_the_run_is_marked(memory: Memory, killed: Path) -> None:
    cleaned = clean_run(killed)
    assert (cleaned.objects, cleaned.container, cleaned.left_behind) == (1, "box", [])  # of two, one had arrived
    assert memory.containers == {}
    state = json.loads((killed / "run.json").read_text())
    assert (state["status"], state["error"]) == ("failed", "the run was killed; cleaned afterwards")
    assert not (killed / "files").exists()


def test_a_second_time_there_is_nothing_to_do(memory: Memory, killed: Path) -> None:
    clean_run(killed)
    memory.calls.clear()
    cleaned = clean_run(killed)
    assert (cleaned.objects, cleaned.container) == (0, None)
    assert memory.calls == []


def test_what_cannot_be_removed_is_named_and_can_be_tried_again(memory: Memory, killed: Path) -> None:
    memory.faults["login"] = ServiceError(ErrorKind.ENDPOINT_GONE, "refused")
    cleaned = clean_run(killed)
    assert [one["name"] for one in cleaned.left_behind] == ["vmtrace-f00/0001/00001", "vmtrace-f00/0001/00002", "box"]
    memory.faults.clear()
    assert clean_run(killed).left_behind == []


def test_a_run_that_goes_on_is_left_alone(memory: Memory, tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {"id": "f00", "provider": "fake", "container": "box"})
    with pytest.raises(ProvidersError, match="another vmtrace is writing"):
        clean_run(tmp_path / "run")
    folder.close()


def test_what_is_no_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProvidersError, match="no run is there"):
        clean_run(tmp_path / "nowhere")
    with pytest.raises(ProvidersError, match="no run is there"):
        clean_run(tmp_path)


@pytest.mark.parametrize("name", ["id", "provider", "container"])
def test_a_run_json_that_lacks_what_is_needed_is_reported(memory: Memory, killed: Path, name: str) -> None:
    state = json.loads((killed / "run.json").read_text())
    for value in (None, "", {"a": 1}):
        (killed / "run.json").write_text(json.dumps({**state, name: value}))
        with pytest.raises(ProvidersError, match=rf"run\.json: {name} is missing: this run cannot be cleaned"):
            clean_run(killed)
    assert memory.calls == []


def test_strange_settings_in_a_run_json_are_left_out(memory: Memory, killed: Path) -> None:
    state = json.loads((killed / "run.json").read_text())
    (killed / "run.json").write_text(json.dumps({**state, "tls": "yes", "options": [1]}))
    assert clean_run(killed).left_behind == []
    assert memory.containers == {}


@pytest.mark.parametrize(
    "lines",
    [
        [{"what": "creating", "names": ["precious"]}],
        [{"what": "creating", "names": ["vmtrace-f00/0001/00009"]},
         {"what": "created", "name": "vmtrace-f00/0001/00009", "reference": "precious"}],
    ],
    ids=["name", "reference"],
)  # fmt: skip
def test_objects_that_are_not_of_the_run_stay_whatever_stands_in_the_journal(
    memory: Memory, killed: Path, lines: list[dict[str, object]]
) -> None:
    memory.containers["box"]["precious"] = b"x"
    with (killed / "journal.jsonl").open("a") as journal:
        journal.writelines(json.dumps(line) + "\n" for line in lines)
    cleaned = clean_run(killed)
    assert memory.containers == {"box": {"precious": b"x"}}
    assert cleaned.objects == 1
    assert "is not of this run: it stays" in cleaned.left_behind[0]["error"]


def test_a_container_that_is_gone_is_not_taken_for_another(memory: Memory, killed: Path) -> None:
    del memory.containers["box"]
    memory.containers["other"] = {}
    with Journal(killed) as journal:
        journal.creating_container("other")
    assert clean_run(killed).container is None
    assert memory.containers == {"other": {}}


def test_a_run_without_its_journal_is_reported_with_what_to_look_for(memory: Memory, killed: Path) -> None:
    (killed / "journal.jsonl").unlink()
    with pytest.raises(ProvidersError, match=r"journal.jsonl is missing: look at the service for box and names with"):
        clean_run(killed)
    assert memory.calls == []

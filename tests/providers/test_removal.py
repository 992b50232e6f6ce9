"""What was created is removed; what cannot be is named, and nothing of others is touched."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.providers.fakes import FakeService, Memory, meant
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.removal import Remover


class Stage:
    """A container with objects of a run and of somebody else."""

    def __init__(self, path: Path) -> None:
        self.memory = Memory({"box": {"run/1": b"", "run/2": b"", "run/stray": b""}})
        self.journal = Journal(path)
        self.path = path
        self.journal.creating(["run/1", "run/2"])
        build = partial(FakeService, self.memory, "box")
        self.remover = Remover(build, meant, self.journal, path, "run/", HttpObserver())

    @property
    def objects(self) -> list[str]:
        return sorted(self.memory.containers.get("box", {}))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.journal.close()


def test_objects_are_removed_and_told_to_the_journal(stage: Stage) -> None:
    assert stage.remover.objects(["run/1", "run/unknown"]) is None
    assert stage.objects == ["run/2", "run/stray"]
    assert list(outstanding(stage.path).objects) == ["run/2"]


def test_what_cannot_be_removed_stays_in_the_journal(stage: Stage) -> None:
    stage.memory.faults["delete"] = ServiceError(ErrorKind.ENDPOINT_GONE, "refused")
    error = stage.remover.objects(["run/1"])
    assert error is not None
    assert error.kind == ErrorKind.ENDPOINT_GONE
    assert list(outstanding(stage.path).objects) == ["run/1", "run/2"]
    assert stage.memory.calls[-1] == "close"


def test_after_trouble_the_service_is_asked_for_what_else_is_there_of_the_run(stage: Stage) -> None:
    stage.memory.containers["box"]["precious"] = b""
    assert stage.remover.everything("box", unfinished=True) == []
    assert stage.objects == ["precious"]
    assert "abandon_uploads" in stage.memory.calls


def test_the_runs_own_container_goes_last_and_another_stays(stage: Stage) -> None:
    assert stage.remover.everything("box", unfinished=True) == []
    assert "box" in stage.memory.containers
    stage.journal.creating_container("box")
    assert stage.remover.everything("box", unfinished=False) == []
    assert stage.memory.containers == {}
    assert outstanding(stage.path).container is None


def test_where_all_is_removed_already_the_service_is_not_asked(stage: Stage) -> None:
    stage.remover.objects(["run/1", "run/2"])
    stage.memory.calls.clear()
    assert stage.remover.everything("box", unfinished=False) == []
    assert stage.memory.calls == []


def test_a_container_that_is_gone_took_everything_with_it(stage: Stage) -> None:
    stage.journal.creating_container("box")
    stage.memory.containers.clear()
    assert stage.remover.everything("box", unfinished=True) == []
    assert outstanding(stage.path).objects == {}


def test_a_container_into_which_somebody_put_something_stays_and_is_named(stage: Stage) -> None:
    stage.journal.creating_container("box")
    stage.memory.containers["box"]["precious"] = b""
    (left,) = stage.remover.everything("box", unfinished=True)
    assert left["name"] == "box"
    assert "someone else put something there: it stays" in left["error"]
    assert stage.objects == ["precious"]


def test_only_the_container_that_the_journal_names_is_removed(stage: Stage) -> None:
    stage.journal.creating_container("another")
    stage.memory.containers["box"].clear()
    stage.remover.everything("box", unfinished=True)
    assert "box" in stage.memory.containers


def test_archives_under_ids_are_removed_by_these(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeService, "lists_at_once", False)
    stage.journal.created("run/1", "id-1")
    stage.journal.created("run/2", "id-2")
    stage.memory.containers["box"] = {"id-1": b"", "id-2": b"", "run/x": b""}
    assert stage.remover.everything("box", unfinished=True) == []
    assert stage.objects == ["run/x"]  # not listed: that would take hours

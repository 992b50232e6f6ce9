"""Workers may be lost, stopped, doubled: the results stay those of one process."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import captures_made as made
from tests.corpus.oracle import assert_same, run
from vmtrace.corpus import workers
from vmtrace.corpus.buckets import BucketTask, analyze_bucket
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.splitting import SplitTask, split
from vmtrace.corpus.workers import Cluster, ThisProcess, cluster_at
from vmtrace.lab.services import process


def written(folder: Path, count: int = 60, files: int = 6) -> list[str]:
    return [str(path) for path in made.written(folder, made.rotated(made.merged(made.talks(count)), files))]


@pytest.fixture(autouse=True)
def _runs_of_one_file_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.corpus.planning.ONE_TASK_BYTES", 0)
    monkeypatch.setattr("vmtrace.corpus.planning._LEAST_RUN_BYTES", 1)
    monkeypatch.setattr("vmtrace.corpus.planning._RUNS_PER_WORKER", 1000)


@contextmanager
def running(words: Sequence[str], folder: Path, *, give_up: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Dask's in a group of its own, which ends with the block."""
    environment = os.environ | {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "DASK_LOGGING__DISTRIBUTED": "error",
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3s" if give_up else "5 minutes",
    }
    with (folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb") as log:
        command = [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]]
        started = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield started
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


class Machines:
    """A scheduler and its workers, as on several machines."""

    def __init__(self, folder: Path, stack: ExitStack, *, give_up: bool = False) -> None:
        """With `give_up` a worker that is silent for three seconds is given up by the scheduler."""
        self.folder, self._stack, self._give_up = folder, stack, give_up
        self.port = process.free_ports("127.0.0.1", 1, None)[0]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        words = ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-jupyter"]
        return self._stack.enter_context(running(words[:-1], self.folder, give_up=self._give_up))

    def start_worker(self) -> "subprocess.Popen[bytes]":
        words = ["worker", self.address, "--nthreads", "1", "--nworkers", "1", "--no-nanny", "--no-dashboard"]
        words += ["--death-timeout", "60", "--local-directory", str(self.folder / f"w{time.monotonic_ns()}")]
        return self._stack.enter_context(running(words, self.folder))


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with ExitStack() as stack:
        folder = tmp_path / "machines"
        folder.mkdir()
        yield Machines(folder, stack)


def client_of(address: str) -> Any:
    import distributed

    client: Any = distributed.Client
    return client(address, timeout=30)


def await_workers(address: str, count: int) -> None:
    with client_of(address) as client:
        client.wait_for_workers(count, timeout=60)


def test_a_cluster_gives_the_result_of_one_process(tmp_path: Path) -> None:
    paths = written(tmp_path / "in")
    with workers.local_cluster(2, 512 << 20) as two:
        assert two.count == 2
        done = run(paths, tmp_path / "out", 5, two)
    assert_same(tmp_path / "out", paths)
    assert (done.runs, done.buckets) == (6, 5)


def test_workers_that_are_killed_change_nothing(tmp_path: Path, machines: Machines) -> None:
    paths = written(tmp_path / "in", 120, 12)
    first = [machines.start_worker() for _ in range(2)]
    await_workers(machines.address, 2)

    class Killing(Cluster):
        """Kills a worker once some tasks of a stage are done, and starts another."""

        def each(self, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
            for number, task in enumerate(super().each(work, tasks)):
                if number == 2 and first:
                    os.killpg(first.pop().pid, signal.SIGKILL)
                    machines.start_worker()
                yield task

    with client_of(machines.address) as client:
        run(paths, tmp_path / "out", 8, Killing(client))
    assert not first
    assert_same(tmp_path / "out", paths)


@pytest.mark.long
def test_twenty_kills_at_random_in_each_stage_change_nothing(tmp_path: Path, machines: Machines) -> None:
    paths = written(tmp_path / "in", 400, 48)
    alive = [machines.start_worker() for _ in range(3)]
    await_workers(machines.address, 3)
    dice = random.Random(38)
    kills: Counter[str] = Counter()

    class Killing(Cluster):
        """Kills one of three workers after every other task or so, and starts another in its place."""

        def each(self, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
            for task in super().each(work, tasks):
                if kills[work.__name__] < 20 and dice.random() < 0.7:
                    os.killpg(alive.pop(dice.randrange(len(alive))).pid, signal.SIGKILL)
                    alive.append(machines.start_worker())
                    kills[work.__name__] += 1
                yield task

    with client_of(machines.address) as client:
        run(paths, tmp_path / "out", 40, Killing(client))
    assert kills == {"split": 20, "analyze_bucket": 20, "write_table": 20}
    assert_same(tmp_path / "out", paths)


@pytest.mark.long
@pytest.mark.parametrize("count", [3, 7])
def test_more_workers_give_the_result_of_one_process(tmp_path: Path, count: int) -> None:
    paths = written(tmp_path / "in", 200, 24)
    with workers.local_cluster(count, 512 << 20) as several:
        run(paths, tmp_path / "out", 8, several)
    assert_same(tmp_path / "out", paths)


def test_a_scheduler_that_is_killed_is_resumed_from(tmp_path: Path, machines: Machines) -> None:
    paths = written(tmp_path / "in", 120, 12)
    machines.start_worker()
    await_workers(machines.address, 1)

    class Killing(Cluster):
        def each(self, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
            for number, task in enumerate(super().each(work, tasks)):
                yield task
                if number == 3 and work is analyze_bucket:
                    os.killpg(machines.scheduler.pid, signal.SIGKILL)

    with (
        client_of(machines.address) as client,
        pytest.raises(CorpusError, match="resumes the run"),
    ):
        run(paths, tmp_path / "out", 8, Killing(client))
    done_before = sorted((tmp_path / "out/buckets").glob("*.json"))
    assert 4 <= len(done_before) <= 8
    machines.start_scheduler()
    machines.start_worker()
    await_workers(machines.address, 1)
    with client_of(machines.address) as client:
        run(paths, tmp_path / "out", 8, Cluster(client))
    assert_same(tmp_path / "out", paths)


@pytest.mark.long
def test_a_worker_that_goes_on_after_its_task_was_done_elsewhere_changes_nothing(tmp_path: Path) -> None:
    paths = written(tmp_path / "in", 400, 8)
    (tmp_path / "machines").mkdir()
    stopped: list[int] = []
    with ExitStack() as stack:
        machines = Machines(tmp_path / "machines", stack, give_up=True)
        held = machines.start_worker()
        machines.start_worker()
        await_workers(machines.address, 2)

        class Stopping(Cluster):
            """Stops a worker within a task of each of two stages, and lets it go on when all of the stage is done."""

            def each(self, work: Any, tasks: Sequence[Any]) -> Iterator[Any]:
                for number, task in enumerate(super().each(work, tasks)):
                    if number == 0 and work in {split, analyze_bucket}:
                        os.killpg(held.pid, signal.SIGSTOP)
                        stopped.append(number)
                    yield task
                os.killpg(held.pid, signal.SIGCONT)

        with client_of(machines.address) as client:
            run(paths, tmp_path / "out", 8, Stopping(client))
    assert len(stopped) == 2
    assert_same(tmp_path / "out", paths)


@pytest.mark.slow
def test_a_task_done_twice_at_a_time_changes_nothing(tmp_path: Path) -> None:
    from vmtrace.corpus import inputs

    paths = written(tmp_path / "in", 30, 2)
    found = inputs.find(paths, None)
    task = SplitTask(found.inputs, 3, str(tmp_path / "work"))
    script = "import pickle, sys; work, task = pickle.load(sys.stdin.buffer); work(task)"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

    def at_once(work: Any, given: Any) -> None:
        import pickle

        started = [
            subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, env=environment) for _ in range(2)
        ]
        for one in started:
            assert one.stdin is not None
            one.stdin.write(pickle.dumps((work, given)))
            one.stdin.close()
        # One is stopped meanwhile, and goes on when the other is done.
        os.kill(started[0].pid, signal.SIGSTOP)
        assert started[1].wait(60) == 0
        os.kill(started[0].pid, signal.SIGCONT)
        assert started[0].wait(60) == 0

    at_once(split, task)
    for bucket in range(3):
        at_once(analyze_bucket, BucketTask(str(tmp_path / "work"), bucket, str(tmp_path / "out"), json=True))
    from tests.corpus.oracle import Quiet, settings
    from vmtrace.corpus.running import Run

    Run(settings(tmp_path / "out", None), ThisProcess(), Quiet()).of_split(str(tmp_path / "work"))
    assert_same(tmp_path / "out", paths)


def test_what_is_wrong_with_a_cluster_is_said_in_one_line(machines: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    import distributed

    with pytest.raises(CorpusError, match="no Dask scheduler answers"), cluster_at("tcp://127.0.0.1:9"):
        pass
    monkeypatch.setattr(distributed.Client, "wait_for_workers", lambda *_, **__: None)
    with pytest.raises(CorpusError, match="it has no workers"), cluster_at(machines.address):
        pass
    machines.start_worker()
    monkeypatch.undo()
    await_workers(machines.address, 1)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.0.1")
    with pytest.raises(CorpusError, match=r"but here it is 0\.0\.1"), cluster_at(machines.address):
        pass
    monkeypatch.undo()

    class Without(Cluster):
        """A worker that has no vmtrace answers with an exception."""

    monkeypatch.setattr(workers, "_versions_at_workers", lambda _: {"tcp://10.0.0.7:1": None})
    with pytest.raises(CorpusError, match=r"worker tcp://10\.0\.0\.7:1 has no vmtrace"), cluster_at(machines.address):
        pass

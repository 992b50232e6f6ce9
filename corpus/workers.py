"""Who does the tasks: this process one after the other, or the workers of a Dask cluster, which may come and go.

A task is a function of a module with a record of plain values, safe to do twice. What one raises is raised here.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from vmtrace.corpus.errors import CorpusError

_MOST_LOSSES = 3
"""Times that a task is given anew, each after as many lost workers as the scheduler allows (four)."""

_LOCAL = {
    "distributed.worker.multiprocessing-method": "forkserver",
    # Looks at each thread a hundred times a second.
    "distributed.worker.profile.enabled": False,
    # What the engine has freed stays with the process: a worker that waits for less of it would wait for good.
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    # By default each piece of a slice is memory that is new from the system, and is given back to it.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
}
"""How workers of this machine differ from Dask's defaults."""

Progress = Callable[[int], object]


class Workers(Protocol):
    """Does tasks."""

    count: int

    def each(self, work: Callable[..., str], tasks: Sequence[Any]) -> Iterator[Any]:
        """The tasks as they are done."""


class ThisProcess:
    """One after the other."""

    count = 1

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress

    def each(self, work: Callable[..., str], tasks: Sequence[Any]) -> Iterator[Any]:
        """See `Workers`."""
        for task in tasks:
            work(task, self._progress)
            yield task


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.count = max(1, sum(client.nthreads().values()))

    def each(self, work: Callable[..., str], tasks: Sequence[Any]) -> Iterator[Any]:
        """See `Workers`. A worker that is lost has its task done by another."""
        import distributed

        as_completed: Any = distributed.as_completed
        futures = {self._client.submit(work, task, pure=False): task for task in tasks}
        losses: Counter[Any] = Counter()
        coming = as_completed(list(futures))
        try:
            for future in coming:
                task = futures.pop(future)
                if _was_lost(future) and losses[task] < _MOST_LOSSES:
                    losses[task] += 1
                    again = self._client.submit(work, task, pure=False)
                    futures[again] = task
                    coming.add(again)
                    continue
                _result(future)
                yield task
        finally:
            self._client.cancel(list(futures))


def _was_lost(future: Any) -> bool:
    """The scheduler gave a task up, since workers went while they had it."""
    from distributed import KilledWorker

    return future.status == "error" and isinstance(future.exception(), KilledWorker)


def _result(future: Any) -> None:
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    try:
        future.result()
    except KilledWorker as error:
        what = "a task ended its workers again and again, most often out of memory: give more --buckets, or --memory"
        raise CorpusError(f"{what} ({str(error).splitlines()[0][:120]})") from None
    except (CommClosedError, FutureCancelledError, TimeoutError) as error:
        raise CorpusError(f"the scheduler is gone ({type(error).__name__}); the same command resumes the run") from None


@contextmanager
def local_cluster(count: int, memory_bytes: int) -> Iterator[Workers]:
    """Processes of this machine, each with one thread. They end with the block."""
    distributed = _distributed()
    import dask

    with (
        dask.config.set(_LOCAL),
        _prepared(),
        distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            memory_limit=memory_bytes,
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield Cluster(client)


@contextmanager
def _prepared() -> Iterator[None]:
    """Workers are forked from one process that has imported what tasks need: each for itself takes a second."""
    from distributed.utils import get_mp_context

    context = get_mp_context()  # type: ignore[no-untyped-call]
    context.set_forkserver_preload(
        ["distributed", *(f"vmtrace.corpus.{name}" for name in ("splitting", "buckets", "beyond", "results"))]
    )
    yield


@contextmanager
def cluster_at(address: str) -> Iterator[Workers]:
    """The workers of a scheduler that runs. Raises `CorpusError` where they cannot do the tasks."""
    distributed = _distributed()
    try:
        with warnings.catch_warnings():
            # Dask's table of versions: those that matter are checked below.
            warnings.simplefilter("ignore")
            client = distributed.Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise CorpusError(f"--scheduler {address}: no Dask scheduler answers ({_first_line(error)})") from None
    with client:
        _check_versions(client, address)
        yield Cluster(client)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise CorpusError(f"several workers need Dask: {sys.executable} -m pip install 'distributed>=2025.1'") from None
    return distributed


def _check_versions(client: Any, address: str) -> None:
    from importlib.metadata import version

    if not client.nthreads():
        raise CorpusError(f"--scheduler {address}: it has no workers: start some with dask worker {address}")
    own = version("distributed")
    theirs = client.get_versions()["scheduler"]["packages"]["distributed"]
    if theirs != own:
        raise CorpusError(f"--scheduler {address}: Dask {theirs}, but here it is {own}: install one version of both")
    for worker, found in _versions_at_workers(client).items():
        if found != version("vmtrace"):
            what = "has no vmtrace" if found is None else f"has vmtrace {found}"
            raise CorpusError(f"worker {worker} {what}, but here it is {version('vmtrace')}: install it there")


def _versions_at_workers(client: Any) -> dict[str, str | None]:
    from importlib.metadata import version

    # A function of the standard library: nothing of vmtrace need be there to say that it is not.
    found: dict[str, Any] = client.run(version, "vmtrace", on_error="return")
    return {worker: one if isinstance(one, str) else None for worker, one in found.items()}


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]

"""`vmtrace queue clean RUN`: collect what a run left in its queue, so that each message is accounted for; remove it.

A queue that the run made is removed; from one that was there before, only the run's own messages are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.cleaning import held, note_left, target_of
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.journal import NAME, Journal, outstanding
from vmtrace.providers.queues import registry
from vmtrace.providers.queues.call_log import CallLog
from vmtrace.providers.queues.collecting import Collector, collector_log
from vmtrace.providers.queues.contract import QueueService
from vmtrace.providers.queues.message import Seal
from vmtrace.providers.queues.plan import QueuePlan, plan_of_record
from vmtrace.providers.queues.progress import progress_of
from vmtrace.providers.queues.run_folder import read_queue_run
from vmtrace.providers.queues.task import KEY_FILE
from vmtrace.providers.registry import sdk_of


@dataclass(frozen=True, slots=True)
class QueueCleaned:
    """What `clean` did."""

    collected: int
    """Messages of the run that were still in the queue, and are gone now."""
    queue: str | None
    """Removed now; None if the run had made none, or it was gone already."""


@dataclass(frozen=True, slots=True)
class _Client:
    service: QueueService
    error_of: Callable[[Exception], ServiceError]
    observer: HttpObserver


def clean_queue_run(path: Path, ca_bundle: Path | None = None) -> QueueCleaned:
    """Collect and remove what is left. Raises `ProvidersError` where something is left still; it says what and why."""
    try:
        with held(path):
            return _clean(path, read_queue_run(path), ca_bundle)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProvidersError(f"{path / 'run.json'}: {error!r}: this run cannot be cleaned") from error


def _clean(path: Path, state: dict[str, Any], ca_bundle: Path | None) -> QueueCleaned:
    queue, plan = str(state["queue"]), plan_of_record(state["plan"])
    if not (path / NAME).exists():
        raise ProvidersError(f"{path}: {NAME} is missing: look at the service for the queue {queue}")
    own = outstanding(path).container == queue
    left = progress_of(path, plan.messages).outstanding()
    if state.get("queue_removed") or not (own or left):
        note_left(path, state, [])
        return QueueCleaned(0, None)
    provider = registry.find(str(state["provider"]))
    try:
        with ExitStack() as stack:
            with sdk_of(provider.name, provider.extra):
                observer = stack.enter_context(HttpObserver())
            journal = stack.enter_context(Journal(path))
            removed = None
            try:
                with _client(provider, path, state, ca_bundle) as service:
                    client = _Client(service, provider.error_of, observer)
                    collected = _collected(path, state, left, plan, client)
                    if own:
                        service.remove_queue()
                        removed = queue
            except ServiceError as error:
                if error.kind != ErrorKind.NO_SUCH_CONTAINER:
                    raise
                collected = 0
            if own:
                journal.removed_container(queue)
    except ServiceError as error:
        note_left(path, state, [{"name": queue, "messages": left, "error": str(error)}])
        raise ProvidersError(f"{path}: still at the service: {error.shown(queue)}") from error
    state.update(collected=True, queue_removed=own)
    note_left(path, state, [])
    return QueueCleaned(collected, removed)


@contextmanager
def _client(
    provider: registry.QueueProvider, path: Path, state: dict[str, Any], ca_bundle: Path | None
) -> Iterator[QueueService]:
    """A client; what its SDK raises becomes a `ServiceError`."""
    service = registry.build(provider, target_of(path, state, ca_bundle, "queue", "endpoint_named"))
    try:
        yield service
    except ProvidersError:
        raise
    except Exception as error:
        raise provider.error_of(error) from error
    finally:
        service.close()


def _collected(path: Path, state: dict[str, Any], left: int, plan: QueuePlan, client: _Client) -> int:
    seal = Seal(str(state["id"]), bytes.fromhex((path / KEY_FILE).read_text().strip()))
    with CallLog(collector_log(path)) as log:
        collector = Collector(client.service, seal, log, client.error_of, client.observer)
        return collector.collect(left, max(stage.visibility_s for stage in plan.stages))

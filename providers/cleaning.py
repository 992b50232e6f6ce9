"""`vmtrace storage clean RUN`: remove what a run that was killed, or could not remove all, left at the service."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.campaign import FAILED, RUNNING
from vmtrace.formats.run_state import write_run_state
from vmtrace.providers import registry
from vmtrace.providers.budget import Budget, Limits
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.exchanges import CALL_S, HttpObserver
from vmtrace.providers.files import discard
from vmtrace.providers.journal import NAME, Journal, outstanding
from vmtrace.providers.removal import Remover
from vmtrace.providers.run_folder import lock_run, read_run
from vmtrace.providers.service import Service, Target


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What `clean` did."""

    objects: int
    """That were at the service, and are gone now."""
    container: str | None
    """Removed now; None if the run had made none, it was gone already, or it is there still."""
    left_behind: list[dict[str, Any]]


def first_and_more(left_behind: list[dict[str, Any]]) -> str:
    """The first of what is still at the service, with its error, and how many more there are: for one line."""
    first = left_behind[0]
    more = f" and {len(left_behind) - 1} more" if len(left_behind) > 1 else ""
    return f"{first['name']} ({first['error']}){more}"


def clean_run(path: Path, ca_bundle: Path | None = None, call_s: float = CALL_S) -> Cleaned:
    """Remove what is left of a run. Raises `ProvidersError` for a folder that is none, or that is being written."""
    with held(path):
        return _clean(path, read_run(path), ca_bundle, call_s)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Within it nobody else writes to the folder, if there is one; raises `ProvidersError` while somebody does."""
    lock = lock_run(path) if path.is_dir() else -1
    try:
        yield
    finally:
        if lock >= 0:
            os.close(lock)


def _clean(path: Path, state: dict[str, Any], ca_bundle: Path | None, call_s: float) -> Cleaned:
    if not (path / NAME).exists():
        shown = f"{_word(path, state, 'container')} and names with vmtrace-{_word(path, state, 'id')}/"
        raise ProvidersError(f"{path}: {NAME} is missing: look at the service for {shown}")
    discard(path / "files")
    before = outstanding(path)
    target = target_of(path, state, ca_bundle, "container", "endpoint_told")
    provider = registry.find(target.provider)

    def build() -> Service:
        return registry.build(provider, target)

    with ExitStack() as stack:
        with registry.sdk_of(provider.name, provider.extra):
            observer = stack.enter_context(HttpObserver(Budget(Limits(), None), call_s=call_s))
        journal = stack.enter_context(Journal(path))
        prefix = f"vmtrace-{_word(path, state, 'id')}/"
        remover = Remover(build, provider.error_of, journal, path, prefix, observer)
        touched = bool(before.objects) or before.container is not None
        left = remover.everything(target.container, unfinished=touched)
    note_left(path, state, left)
    return Cleaned(remover.were_there, before.container if remover.container_went else None, left)


def target_of(path: Path, state: dict[str, Any], ca_bundle: Path | None, container: str, endpoint: str) -> Target:
    """Where a run was, by its `run.json`, which has the container and the endpoint that was named under these keys."""
    bundle, options = _table(state, "tls").get("ca_bundle"), _table(state, "options")
    return Target(
        provider=_word(path, state, "provider"),
        container=_word(path, state, container),
        endpoint_url=state.get(endpoint),
        region=state.get("region"),
        ca_bundle=ca_bundle or (Path(bundle) if isinstance(bundle, str) and bundle else None),
        options={str(name): str(value) for name, value in options.items()},
    )


def _word(path: Path, state: dict[str, Any], name: str) -> str:
    value = state.get(name)
    if not isinstance(value, str) or not value:
        raise ProvidersError(f"{path / 'run.json'}: {name} is missing: this run cannot be cleaned")
    return value


def _table(state: dict[str, Any], name: str) -> dict[str, Any]:
    value = state.get(name)
    return value if isinstance(value, dict) else {}


def note_left(path: Path, state: dict[str, Any], left: list[dict[str, Any]]) -> None:
    """What is at the service still; a run that was killed is one that failed."""
    state["left_behind"] = left
    if state.get("status") == RUNNING:
        state.update(status=FAILED, error="the run was killed; cleaned afterwards", error_kind="other")
    write_run_state(path, state)

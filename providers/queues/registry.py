"""Which queue services there are: the modules of `services/`, each imported only when its service is asked for.

A module has `EXTRA`, `OPTIONS` and `error_of` as those of `vmtrace.providers.registry`, `FIFO` (whether it has FIFO
queues), `LIMITS`, and `build(target)`, whose `container` is the queue's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from vmtrace.providers.errors import ServiceError
from vmtrace.providers.queues import services
from vmtrace.providers.queues.contract import Limits, QueueService
from vmtrace.providers.registry import built, matching, module_of, names_in, refuse_unknown_options
from vmtrace.providers.service import Target


@dataclass(frozen=True, slots=True)
class QueueProvider:
    """A queue service that can be had."""

    name: str
    extra: str
    options: Mapping[str, str]
    has_fifo: bool
    limits: Limits
    build: Callable[[Target], QueueService]
    error_of: Callable[[Exception], ServiceError]


def names() -> list[str]:
    """Of all queue services; nothing of them is imported."""
    return names_in(services)


def find(name: str) -> QueueProvider:
    """The service of this name, or of the only name with this prefix; raises `UsageError`."""
    found = matching(name, names())
    module = module_of(found, services)
    return QueueProvider(found, module.EXTRA, module.OPTIONS, module.FIFO, module.LIMITS, module.build, module.error_of)


def build(provider: QueueProvider, target: Target) -> QueueService:
    """A client. Raises `ProvidersError` where the SDK is not installed, or refuses these settings."""
    refuse_unknown_options(provider.name, provider.options, target)
    return built(partial(provider.build, target), provider.name, provider.extra, provider.error_of)

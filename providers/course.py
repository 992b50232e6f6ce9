"""The course of a run against a service: what ends it, what `run.json` begins with, and its removal in time.

What campaigns of all kinds share is `vmtrace.capture.campaign`. This is the part that knows services.
"""

import platform
import ssl
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, TypeVar

from vmtrace.capture.campaign import FAILED, OVER_BUDGET, Outcome, begun
from vmtrace.capture.ending import Ending
from vmtrace.capture.errors import CaptureError
from vmtrace.providers.errors import BudgetError, ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.order import ServiceOrder
from vmtrace.providers.service import Sdk

T = TypeVar("T")
Record = dict[str, Any]


def status_of(error: Exception) -> str | None:
    """What an exception makes of a run; None for a defect of the program."""
    if isinstance(error, BudgetError) or (isinstance(error, ServiceError) and error.kind == ErrorKind.BUDGET):
        return OVER_BUDGET
    return FAILED if isinstance(error, ProvidersError | CaptureError | OSError) else None


def error_of(outcome: Outcome) -> ServiceError | None:
    """What ended a run before its time, as the service's own errors are told."""
    error = outcome.error
    if error is None or isinstance(error, ServiceError):
        return error
    text = f"{type(error).__name__}: {error}" if outcome.is_defect else str(error)
    return ServiceError(ErrorKind.CAPTURE if isinstance(error, CaptureError) else ErrorKind.OTHER, text, "")


def interrupted() -> ServiceError:
    """What a call ends with that is broken off."""
    return ServiceError(ErrorKind.OTHER, "interrupted")


def in_time(ending: Ending, observer: HttpObserver, work: Callable[[], T]) -> T | None:
    """Remove what a run created; after Ctrl-C as far as there is time, and None where there was too little."""
    ending.settle()
    observer.resume()
    done = ending.in_time(work)
    if done is None:
        observer.abort(interrupted())
    return done


def first_state(order: ServiceOrder, provider: str, run_id: str, sdk: Sdk, start_ns: int, *, charged: bool) -> Record:
    """Of `run.json`, before the first request; `charged` says whether the service's prices are known."""
    return {
        **begun(run_id, order.out, order.name, order.command, start_ns),
        "host": platform.node(),
        "provider": provider,
        "region": order.region,
        "location": order.location,
        "endpoint": None,
        "options": dict(order.options),
        "tls": None,
        "sdk": {"name": sdk.name, "version": sdk.version, "settings": dict(sdk.settings)},
        "runtime": {
            "python": platform.python_version(),
            "openssl": ssl.OPENSSL_VERSION,
            "urllib3": version("urllib3"),
        },
        "plan": order.plan.as_record(),
        "sessions": 1,
        "budget": asdict(order.limits),
        "prices": None if not charged or order.prices is None else order.prices.as_record(),
        "used": None,
        "front_ends": [],
        "interface": None,
        "capture": None,
        "left_behind": [],
    }

"""Which services there are: the modules of `services/`, each imported only when its service is asked for.

A module has `EXTRA` (the package extra that installs its SDK), `OPTIONS` (name of each `--option` it takes, and a line
of help), `build(target)`, which returns its `Service` and is the first to import the SDK, and `error_of(exception)`,
which says what an exception of the SDK means. It may have `ONE_STREAM` and `parted_options` (see `Provider`).
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import requires
from shlex import quote
from types import ModuleType
from typing import Any, TypeVar

from vmtrace.providers import services
from vmtrace.providers.errors import ProvidersError, ServiceError, UsageError
from vmtrace.providers.service import Service, Target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that can be had."""

    name: str
    extra: str
    options: Mapping[str, str]
    build: Callable[[Target], Service]
    error_of: Callable[[Exception], ServiceError]
    one_stream: Mapping[str, str]
    """Options with which an object goes whole over one connection, and each request is made six times at most."""
    parted_options: Callable[[int, int], Mapping[str, str]] | None
    """Options for uploads in parts, by connections and bytes of a part; None where the SDK has no such uploads."""


def names() -> list[str]:
    """Of all services; nothing of them is imported."""
    return names_in(services)


def names_in(package: ModuleType) -> list[str]:
    """The services whose modules a package holds; nothing of them is imported."""
    return sorted(one.name.replace("_", "-") for one in pkgutil.iter_modules(package.__path__) if not one.ispkg)


def module_of(name: str, package: ModuleType) -> Any:
    """The module of a service."""
    return importlib.import_module(f"{package.__name__}.{name.replace('-', '_')}")


def find(name: str) -> Provider:
    """The service of this name, or of the only name that begins so; raises `UsageError`."""
    found = matching(name, names())
    module = module_of(found, services)
    return Provider(
        found,
        module.EXTRA,
        module.OPTIONS,
        module.build,
        module.error_of,
        getattr(module, "ONE_STREAM", {}),
        getattr(module, "parted_options", None),
    )


def matching(name: str, known: Sequence[str]) -> str:
    """The known name, or the only one with this prefix; raises `UsageError`."""
    wanted = name.strip().lower().replace("_", "-")
    found = [one for one in known if one == wanted] or [one for one in known if wanted and one.startswith(wanted)]
    if len(found) != 1:
        raise UsageError(f"--provider {name}: there are {', '.join(known)}")
    return found[0]


@contextmanager
def sdk_of(name: str, extra: str) -> Iterator[None]:
    """Within it the SDK is imported; raises `ProvidersError`, which says how to install it, where a part is missing."""
    try:
        yield
    except ImportError as error:
        # The package is named that has to be installed, not the module inside it that is missing.
        wanted = _requirements(extra)
        package = re.split(r"[^\w.-]", wanted[0], maxsplit=1)[0]
        install = f"{sys.executable} -m pip install {' '.join(map(quote, wanted))}"
        raise ProvidersError(f"{package} (the SDK of {name}) is not installed: {install}") from error


def _requirements(extra: str) -> list[str]:
    """What the extra of this installation asks for, the SDK first."""
    ending = f"extra == '{extra}'"
    wanted = [line.partition(";")[0].strip() for line in requires("vmtrace") or () if line.endswith(ending)]
    return wanted or [f"vmtrace[{extra}]"]


def build(provider: Provider, target: Target) -> Service:
    """A client. Raises `ProvidersError` where the SDK is not installed, or will not have these settings."""
    refuse_unknown_options(provider.name, provider.options, target)
    return built(partial(provider.build, target), provider.name, provider.extra, provider.error_of)


def refuse_unknown_options(name: str, options: Mapping[str, str], target: Target) -> None:
    """Raises `UsageError` for an `--option` that the service does not have."""
    unknown = sorted(set(target.options) - set(options))
    if unknown:
        known = ", ".join(options) or "none"
        raise UsageError(f"--option {unknown[0]}: not of {name}, which has: {known}")


def built(make: Callable[[], T], name: str, extra: str, error_of: Callable[[Exception], ServiceError]) -> T:
    """What `make` makes with an SDK. Raises `ProvidersError` where that is not installed, or refuses the settings."""
    try:
        with sdk_of(name, extra):
            return make()
    except ProvidersError:
        raise
    except Exception as error:
        raise error_of(error) from error

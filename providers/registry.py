"""Which services there are: the modules of `services/`, each imported only when its service is asked for.

A module has `EXTRA` (the package extra that installs its SDK), `OPTIONS` (name of each `--option` it takes, and a line
of help), `build(target)`, which returns its `Service` and is the first to import the SDK, and `error_of(exception)`,
which says what an exception of the SDK means.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from providers import services
from providers.errors import ProvidersError, ServiceError, UsageError
from providers.service import Service, Target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Provider:
    """A service that can be had."""

    name: str
    extra: str
    options: Mapping[str, str]
    build: Callable[[Target], Service]
    error_of: Callable[[Exception], ServiceError]


def names() -> list[str]:
    """Of all services; nothing of them is imported."""
    return sorted(
        module.name.replace("_", "-") for module in pkgutil.iter_modules(services.__path__) if not module.ispkg
    )


def find(name: str) -> Provider:
    """The service of this name, or of the only name that begins so; raises `UsageError`."""
    found = matching(name, names())
    module = importlib.import_module(f"{services.__name__}.{found.replace('-', '_')}")
    return Provider(found, module.EXTRA, module.OPTIONS, module.build, module.error_of)


def matching(name: str, known: Sequence[str]) -> str:
    """The known name, or the only one with this prefix; raises `UsageError`."""
    wanted = name.strip().lower().replace("_", "-")
    found = [one for one in known if one == wanted] or [one for one in known if wanted and one.startswith(wanted)]
    if len(found) != 1:
        raise UsageError(f"--provider {name}: there are {', '.join(known)}")
    return found[0]


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
        return make()
    except ModuleNotFoundError as error:
        raise ProvidersError(
            f"{name}: its SDK is not installed ({error.name}): in the clone of vmtrace, "
            f"{sys.executable} -m pip install '.[{extra}]'"
        ) from None
    except ProvidersError:
        raise
    except Exception as error:
        raise error_of(error) from error

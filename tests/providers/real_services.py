"""Clients of each service against its real server over TLS."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from vmtrace.providers import registry
from vmtrace.providers.errors import ServiceError
from vmtrace.providers.registry import Provider
from vmtrace.providers.service import Service, Target

SERVERS = {
    "s3": "swift_service",
    "glacier": "moto_service",
    "glacier-vault": "moto_service",
    "azure-blob": "azurite_service",
    "swift": "swift_service",
}
ALL = [pytest.param(name, marks=pytest.mark.may_skip if "azure" in name else ()) for name in SERVERS]

SOME = [one for one in ALL if one.values[0] in {"s3", "swift", "azure-blob"}]


@dataclass
class Bench:
    """A service with a container of its own."""

    provider: Provider
    container: str
    options: dict[str, str]

    def client(self, container: str | None = None, **more: Any) -> Service:
        target = Target(self.provider.name, container or self.container, options=self.options, **more)
        return registry.build(self.provider, target)

    def told(self, work: Callable[[], object]) -> ServiceError:
        """What the exception means that this raises."""
        try:
            work()
        except ServiceError as error:
            return error
        except Exception as error:  # noqa: BLE001 - every SDK has its own
            return self.provider.error_of(error)
        raise AssertionError("nothing was raised")


def restored(service: Service, reference: str) -> None:
    """Bring an object back from the archive, if there is one."""
    service.request_restore(reference)
    ends_s = time.monotonic() + 30
    while not service.is_restored(reference):
        assert time.monotonic() < ends_s
        time.sleep(0.2)

"""OpenStack Swift (what Rackspace Cloud Files runs) with its S3 API: proxy and backends in one process, one disk.

Needs no root, no memcached and no rsync: any file system with user extended attributes will do. Speaks Swift's own
API with TempAuth at `/auth/v1.0`, and S3 with the same user and key.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from vmtrace.lab.services import aws_environment, process, site, swift_settings
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import LOOPBACK, Place, Service


@contextmanager
def started(
    certificates: Certificates, place: Place = LOOPBACK, token_life_s: int = swift_settings.TOKEN_LIFE_S
) -> Iterator[Service]:
    """An empty Swift; raises `process.ServiceError` when it does not come up."""
    with site.prepared("swift", certificates, place) as here:
        spare = process.free_ports("127.0.0.1", 4, place.namespace)
        first, second, third = [port for port in spare if port != here.port][:3]
        backends = (first, second, third)
        listeners = swift_settings.Listeners(place.address, here.port, backends, tls=place.scheme == "https")
        etc = swift_settings.write(here.folder, listeners, certificates, token_life_s)
        program = site.Program(
            name="swift",
            words=[
                *(sys.executable, "-W", "ignore", "-m", "vmtrace.lab.services.swift_servers"),
                *(str(etc), *map(str, backends)),
            ],
            ready_path="/healthcheck",
            endpoint_url=here.url,
            environment={
                **aws_environment.of(here.url, certificates.ca_path, swift_settings.USER, swift_settings.KEY),
                "ST_AUTH": f"{here.url}/auth/v1.0",
                "ST_AUTH_VERSION": "1",
                "ST_USER": swift_settings.USER,
                "ST_KEY": swift_settings.KEY,
                "OS_CACERT": str(certificates.ca_path),
            },
            tls_terminated_by=f"eventlet {version('eventlet')} ({ssl.OPENSSL_VERSION})",
        )
        with here.serving(program) as service:
            yield service

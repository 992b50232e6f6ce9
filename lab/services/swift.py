"""OpenStack Swift (what Rackspace Cloud Files runs) with its S3 API: proxy and backends in one process, one disk.

Needs no root, no memcached and no rsync: any file system with user extended attributes will do. Speaks Swift's own
API with TempAuth at `/auth/v1.0`, and S3 with the same user and key.
"""

from __future__ import annotations

import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from lab.services import accepted, aws_environment, process, swift_settings
from lab.services.certificates import Certificates
from lab.services.service import LOOPBACK, Place, Service


@contextmanager
def started(
    certificates: Certificates, place: Place = LOOPBACK, token_life_s: int = swift_settings.TOKEN_LIFE_S
) -> Iterator[Service]:
    """An empty Swift; raises `process.ServiceError` when it does not come up."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-swift-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        first, *others = process.free_ports("127.0.0.1", 4, place.namespace)
        port = place.port or (
            first if place.address == "127.0.0.1" else process.free_ports(place.address, 1, place.namespace)[0]
        )
        listeners = swift_settings.Listeners(place.address, port, (others[0], others[1], others[2]))
        etc = swift_settings.write(folder, listeners, certificates, token_life_s)
        log_path, accepted_path = folder / "swift.log", folder / "accepted.log"
        command = process.Command(
            "swift",
            [sys.executable, "-W", "ignore", "-m", "lab.services.swift_servers", str(etc)],
            {accepted.VARIABLE: str(accepted_path)},
            log_path,
            process.answers_https(place, port, certificates.ca_path, "/healthcheck"),
        )
        with process.serving(command, place.namespace) as running:
            url = place.url(port)
            yield Service(
                name="swift",
                endpoint_url=url,
                address=place.address,
                port=port,
                ca_path=certificates.ca_path,
                environment={
                    **aws_environment.of(url, certificates.ca_path, swift_settings.USER, swift_settings.KEY),
                    "ST_AUTH": f"{url}/auth/v1.0",
                    "ST_AUTH_VERSION": "1",
                    "ST_USER": swift_settings.USER,
                    "ST_KEY": swift_settings.KEY,
                    "OS_CACERT": str(certificates.ca_path),
                },
                tls_terminated_by=f"eventlet {version('eventlet')} ({ssl.OPENSSL_VERSION})",
                log_path=log_path,
                accepted_path=accepted_path,
                accepted_before_ready=len(accepted.read(accepted_path)),
                process_id=running.pid,
            )

"""moto behind gunicorn: S3, Glacier vaults, SQS and CloudWatch on one endpoint.

gunicorn, because moto's own server makes a TLS handshake for every request. Any credentials are accepted.
"""

from __future__ import annotations

import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from lab.services import accepted, aws_environment, process
from lab.services.certificates import Certificates
from lab.services.service import LOOPBACK, Place, Service

ACCESS_KEY, SECRET_KEY = "lab-access-key", "lab-secret-key"


@contextmanager
def started(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty moto; raises `process.ServiceError` when it does not come up."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-moto-") as name:
        folder = Path(name)
        port = place.port or process.free_ports(place.address, 1, place.namespace)[0]
        log_path, accepted_path = folder / "moto.log", folder / "accepted.log"
        words = [sys.executable, "-m", "gunicorn", "-c", "python:lab.services.gunicorn_settings"]
        words += ["-b", f"{place.address}:{port}", "--worker-tmp-dir", name]
        words += ["--certfile", str(certificates.chain_path), "--keyfile", str(certificates.key_path)]
        words.append("lab.services.moto_application:application")
        # Buckets stand in the path: the first label of a host name is none.
        environment = {accepted.VARIABLE: str(accepted_path), "TMPDIR": name, "S3_IGNORE_SUBDOMAIN_BUCKETNAME": "true"}
        ready = process.answers_https(place, port, certificates.ca_path, "/moto-api/")
        command = process.Command("moto", words, environment, log_path, ready)
        with process.serving(command, place.namespace) as running:
            url = place.url(port)
            yield Service(
                name="moto",
                endpoint_url=url,
                address=place.address,
                port=port,
                ca_path=certificates.ca_path,
                environment=aws_environment.of(url, certificates.ca_path, ACCESS_KEY, SECRET_KEY),
                tls_terminated_by=f"gunicorn {version('gunicorn')} ({ssl.OPENSSL_VERSION})",
                log_path=log_path,
                accepted_path=accepted_path,
                accepted_before_ready=len(accepted.read(accepted_path)),
                process_id=running.pid,
            )

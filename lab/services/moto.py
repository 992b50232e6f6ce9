"""moto behind gunicorn: S3, Glacier vaults, SQS and CloudWatch on one endpoint.

gunicorn, because moto's own server makes a TLS handshake for every request. Any credentials are accepted.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from vmtrace.lab.services import aws_environment, site
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import LOOPBACK, Place, Service

ACCESS_KEY, SECRET_KEY = "lab-access-key", "lab-secret-key"


@contextmanager
def started(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty moto; raises `process.ServiceError` when it does not come up."""
    with site.prepared("moto", certificates, place) as here:
        folder = str(here.folder)
        words = [sys.executable, "-m", "gunicorn", "-c", "python:vmtrace.lab.services.gunicorn_settings"]
        words += ["-b", f"{place.address}:{here.port}", "--worker-tmp-dir", folder]
        words += ["--certfile", str(certificates.chain_path), "--keyfile", str(certificates.key_path)]
        words.append("vmtrace.lab.services.moto_application:application")
        program = site.Program(
            name="moto",
            words=words,
            ready_path="/moto-api/",
            endpoint_url=here.url,
            environment=aws_environment.of(here.url, certificates.ca_path, ACCESS_KEY, SECRET_KEY),
            tls_terminated_by=f"gunicorn {version('gunicorn')} ({ssl.OPENSSL_VERSION})",
            # Buckets stand in the path: the first label of a host name is none.
            variables={"TMPDIR": folder, "S3_IGNORE_SUBDOMAIN_BUCKETNAME": "true"},
        )
        with here.serving(program) as service:
            yield service

"""ElasticMQ: an SQS server in Scala, which delivers out of order and refuses stale receipts, where moto does neither.

`make elasticmq` gets it with Maven into `build/elasticmq`; VMTRACE_ELASTICMQ names another folder of its jars. It has
plain HTTP alone: clients that want TLS are given the queue proxy.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmtrace.lab.services import aws_environment, process, site
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import LOOPBACK, REGION, Place, Service

FOLDER_VARIABLE = "VMTRACE_ELASTICMQ"
_INSTALLED = Path(__file__).resolve().parents[2] / "build" / "elasticmq"
_SETTINGS = """include classpath("application.conf")
node-address {{ protocol = http, host = "{address}", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "{address}", bind-port = {port}, sqs-limits = strict }}
rest-stats {{ enabled = false }}
messages-storage {{ enabled = false }}
aws {{ region = {region}, accountId = 000000000000 }}
"""


def missing_requirement() -> str | None:
    """What keeps ElasticMQ from running here, in one line, or None."""
    if shutil.which("java") is None:
        return "ElasticMQ needs Java: install it (Debian: default-jre-headless maven), then make elasticmq"
    if not any(_folder().glob("elasticmq-server*.jar")):
        return f"ElasticMQ is not installed in {_folder()}: make elasticmq"
    return None


@contextmanager
def started(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty ElasticMQ; raises `process.ServiceError` when it is missing or does not come up."""
    reason = missing_requirement()
    if reason:
        raise process.ServiceError(reason)
    with site.prepared("elasticmq", certificates, place) as here:
        settings_path = here.folder / "elasticmq.conf"
        settings_path.write_text(_SETTINGS.format(address=place.address, port=here.port, region=REGION))
        words = ["java", "-Xmx512m", f"-Dconfig.file={settings_path}", "-cp", f"{_folder()}/*"]
        words.append("org.elasticmq.server.Main")
        url = f"http://{place.address}:{here.port}"
        command = process.Command(
            "elasticmq", words, {}, here.folder / "server.log", lambda: _listens(place.address, here.port)
        )
        with process.serving(command, place.namespace) as running:
            yield Service(
                name="elasticmq",
                endpoint_url=url,
                address=place.address,
                port=here.port,
                ca_path=certificates.ca_path,
                environment=aws_environment.of(url, certificates.ca_path, "lab-access-key", "lab-secret-key"),
                tls_terminated_by="none",
                log_path=here.folder / "server.log",
                accepted_path=here.accepted_path,
                accepted_before_ready=0,
                process_id=running.pid,
            )


def _listens(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def _folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or _INSTALLED)

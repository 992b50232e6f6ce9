"""One service's benchmark against its stand-in behind the emulated path, with the truth beside it.

`python -m vmtrace.lab.services.provider_run SETTINGS` is a process of its own, so that several services can run at
once, each over a path of its own. It leaves in the output folder:

    NAME/             the run folder of `vmtrace storage run` or `vmtrace queue run`
    NAME.log          what that printed
    NAME.truth.json   which server it was, what terminated TLS, the path, the connections that the server accepted
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab import fate_log, namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import azurite, certificates, delayed_path, moto, swift
from vmtrace.lab.services.certificates import Certificates, KeyKind
from vmtrace.lab.services.delayed_path import DelayedPath
from vmtrace.lab.services.service import Place, Service

_INTERRUPTED = 130
_WHOLE_PACKETS_BYTES = 2000  # beyond the MTU: a TLS record may begin anywhere in a segment, and its header is counted
_CLEANS_UP_WITHIN_S = 60.0  # after Ctrl-C it removes its objects first

Starter = Callable[[Certificates, Place], AbstractContextManager[Service]]


@dataclass(frozen=True, slots=True)
class StandIn:
    """A provider's name as the command knows it, the server in its place and its name on the path."""

    provider: str
    place: str
    started: Starter
    options: tuple[str, ...] = ()
    command: str = "storage"


# S3 is Swift's s3api and not moto: it checks signatures, and its answers are a real server's.
STAND_INS: Mapping[str, StandIn] = {
    one.provider: one
    for one in (
        StandIn("s3", "s3", swift.started),
        StandIn("glacier", "glacier", moto.started),
        StandIn("azure-blob", "azure", azurite.started),
        StandIn("swift", "swift", swift.started),
    )
}
QUEUE_STAND_INS: Mapping[str, StandIn] = {"sqs": StandIn("sqs", "sqs", moto.started, command="queue")}


@dataclass(frozen=True, slots=True)
class Settings:
    """What to run: the provider, the arguments of its command's `run` behind those named here, and the path."""

    provider: str
    out: str
    rtt_s: float
    rate_bps: float
    queue_bytes: int
    arguments: Sequence[str] = field(default_factory=tuple)

    @property
    def run_folder(self) -> Path:
        """Where the run goes."""
        return Path(self.out) / self.provider

    @property
    def log_path(self) -> Path:
        """What the run printed."""
        return Path(self.out) / f"{self.provider}.log"

    @property
    def truth_path(self) -> Path:
        """What the lab knows of it."""
        return Path(self.out) / f"{self.provider}.truth.json"


def run(settings: Settings) -> int:
    """Run the benchmark over a path of its own; returns the exit status of the command."""
    stand_in = {**STAND_INS, **QUEUE_STAND_INS}[settings.provider]
    with tempfile.TemporaryDirectory(prefix="vmtrace-provider-") as name:
        folder = Path(name)
        chain = certificates.make(folder / "certificates", KeyKind.RSA, delayed_path.CERTIFICATE_NAMES)
        with (
            delayed_path.joined(folder, settings.rtt_s, settings.rate_bps, settings.queue_bytes) as path,
            stand_in.started(chain, path.places[stand_in.place]) as service,
        ):
            before = namespaces.device_counters(path.client_namespace, path.client_device)
            status = _run_client(settings, stand_in, path, service)
            after = namespaces.device_counters(path.client_namespace, path.client_device)
            truth = {
                "provider": settings.provider,
                "server": service.name,
                "server_process_id": service.process_id,
                "client_namespace": path.client_namespace,
                "tls_terminated_by": service.tls_terminated_by,
                "endpoint": service.endpoint_url,
                "rtt_s": settings.rtt_s,
                "rate_bps": settings.rate_bps or None,
                "mtu_bytes": delayed_path.MTU_BYTES,
                "connections_accepted": [asdict(connection) for connection in service.connections()],
                "interface": {"name": path.client_device, "before": asdict(before), "after": asdict(after)},
                "device_drops": path.path.device_drops(),
                "status": status,
            }
            log_path = path.path.log_path
        # The log is whole once the path is down; these the services repeated, or their clients.
        truth["path_drops"] = sum(fate.lost for fate in fate_log.stream_binary(log_path, 0))
    _write(settings.truth_path, truth)
    return status


def _run_client(settings: Settings, stand_in: StandIn, path: DelayedPath, service: Service) -> int:
    words = [sys.executable, "-m", "vmtrace", stand_in.command, "run", "--provider", stand_in.provider]
    words += ["--out", str(settings.run_folder), "--interface", path.client_device]
    words += ["--snaplen", str(_WHOLE_PACKETS_BYTES), "--name", _data_set_name(stand_in, service)]
    for option in stand_in.options:
        words += ["--option", option]
    words += settings.arguments
    with settings.log_path.open("wb") as log:
        client = subprocess.Popen(
            path.client_command(words),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**module_environment(), **service.environment},
            start_new_session=True,  # it is told of Ctrl-C once, by us
        )
        try:
            return client.wait()
        except KeyboardInterrupt:
            client.send_signal(signal.SIGINT)
            client.wait(_CLEANS_UP_WITHIN_S)
            return _INTERRUPTED
        finally:
            client.kill()
            client.wait()


def _data_set_name(stand_in: StandIn, service: Service) -> str:
    """For reports: whoever reads TLS bytes must see whose they are. The library's version is in the truth file."""
    return f"{stand_in.provider} ({service.name}, TLS by {service.tls_terminated_by.partition(' (')[0]})"


def _write(path: Path, document: Mapping[str, Any]) -> None:
    aside = path.with_name(f".{path.name}.part")
    aside.write_text(json.dumps(document, indent=1))
    aside.replace(path)


def main() -> int:
    """`python -m vmtrace.lab.services.provider_run SETTINGS`, a JSON text."""
    try:
        return run(Settings(**json.loads(sys.argv[1])))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except (RuntimeError, OSError) as error:
        print(f"vmtrace: {' '.join(str(error).split())}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

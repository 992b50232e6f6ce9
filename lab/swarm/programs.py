"""The programs of a swarm in the lab: opentracker, seeds (`vmtrace swarm seed`), the store's object, the downloader."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab import namespaces
from vmtrace.lab.hosts import end_process, module_environment
from vmtrace.lab.services.service import Service
from vmtrace.lab.swarm.network import SwarmHost

TRACKER_PORT, SEED_PORT = 6969, 6881
BUCKET, KEY = "swarm", "data.bin"
_READY_WITHIN_S = 60.0
_VMTRACE = (sys.executable, "-m", "vmtrace")


class SwarmLabError(RuntimeError):
    """A program of the swarm that does not come up; the message ends with its last words."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended."""

    status: int
    output: str
    errors: str


def vmtrace(
    host: SwarmHost, words: Sequence[str], environment: Mapping[str, str] | None = None, timeout_s: float = 3600.0
) -> Done:
    """Run `vmtrace` with these words on a host until it ends."""
    done = subprocess.run(
        [*namespaces.exec_prefix(host.namespace), *_VMTRACE, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env={**module_environment(), **(environment or {})},
        timeout=timeout_s,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def tracker(host: SwarmHost, info_hash: str) -> Iterator[str]:
    """opentracker on a host, for one torrent; yields its announce URL.

    Debian's build serves only torrents of a list. It enters the list's folder for good (chroot), as nobody.
    """
    with tempfile.TemporaryDirectory(prefix="vmtrace-tracker-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "torrents").write_text(f"{info_hash}\n")
        listening = ["-i", host.address, "-p", str(TRACKER_PORT), "-P", str(TRACKER_PORT)]
        words = ["opentracker", *listening, "-u", "nobody", "-d", name, "-w", "torrents"]
        with _running(host, words, folder / "log") as process:
            _until(lambda: _listens(host, TRACKER_PORT), process, folder / "log", "opentracker")
            yield f"http://{host.address}:{TRACKER_PORT}/announce"


@contextmanager
def seed(host: SwarmHost, file: Path, torrent: Path, log: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`vmtrace swarm seed` on a host, ready; yields its process."""
    words = [*_VMTRACE, "swarm", "seed", str(file), "--torrent", str(torrent)]
    words += ["--bind", host.address, "--port", str(SEED_PORT), *more]
    with _running(host, words, log) as process:
        _until(lambda: "seeding" in log.read_text(errors="replace"), process, log, f"the seed {host.name}")
        yield process


def store_object(host: SwarmHost, service: Service, content: bytes) -> None:
    """Put the object into the store, from the store's own host: nothing of it crosses the network."""
    import boto3

    environment = service.environment
    with namespaces.inside(host.namespace):
        client = boto3.client(
            "s3",
            endpoint_url=service.endpoint_url,
            region_name=service.region,
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
            verify=str(service.ca_path),
        )
        client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key=KEY, Body=content)
        client.close()


def refused_url(service: Service) -> str:
    """The object's URL signed with another secret: the store answers 403."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "s3",
        endpoint_url=service.endpoint_url,
        region_name=service.region,
        aws_access_key_id=service.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key="another",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
    url: str = client.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": KEY}, ExpiresIn=3600)
    client.close()
    return url


@contextmanager
def _running(host: SwarmHost, words: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*namespaces.exec_prefix(host.namespace), *words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=module_environment(),
            start_new_session=True,
        )
    try:
        yield process
    finally:
        end_process(process)


def _until(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, name: str) -> None:
    ends_s = time.monotonic() + _READY_WITHIN_S
    while not ready():
        if process.poll() is not None or time.monotonic() > ends_s:
            said = log.read_text(errors="replace").strip()[-500:]
            raise SwarmLabError(f"{name} did not come up: {said or 'it said nothing'}")
        time.sleep(0.05)


def _listens(host: SwarmHost, port: int) -> bool:
    return f":{port} " in namespaces.run_program([*namespaces.exec_prefix(host.namespace), "ss", "-ltn"])

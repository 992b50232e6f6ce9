"""What a transfer is, and running one: its two ends as processes inside the hosts.

The description is shared by both ends (`endpoint` carries it out), so only the transfer's own bytes are on the path.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from vmtrace.lab import kernel_counters, namespaces
from vmtrace.lab.hosts import Host, module_environment

PORT = 5810


class Kind(StrEnum):
    """Who opens the connection. Whatever the kind, the bulk of the data flows from `sender` to `receiver`."""

    UPLOAD = "upload"  # the sender connects
    DOWNLOAD = "download"  # the receiver connects
    EXCHANGE = "exchange"  # the receiver connects and asks, the sender answers, in turns


@dataclass(frozen=True, slots=True)
class Transfer:
    """One transfer. It ends after `payload_bytes` per connection or `seconds`, whichever is first.

    `write_interval_s` (one `write_bytes` per interval) and `write_pauses` (after so many bytes, wait so many seconds)
    make the writer application-limited; `read_interval_s`, `read_pauses`, `receive_buffer_bytes` make the reader slow.
    `rounds` connections follow one another in each of `parallel` lanes. Requests and responses are written in parts of
    `part_bytes`, if that is set.
    """

    kind: Kind = Kind.UPLOAD
    payload_bytes: int = 8_000_000
    seconds: float = 4.0
    parallel: int = 1
    rounds: int = 1
    round_gap_s: float = 0.0
    exchanges: int = 0
    request_bytes: int = 200
    response_bytes: int = 20_000
    think_s: float = 0.0
    part_bytes: int = 0
    write_bytes: int = 16_384
    write_interval_s: float = 0.0
    write_pauses: tuple[tuple[int, float], ...] = ()
    read_bytes: int = 65_536
    read_interval_s: float = 0.0
    read_pauses: tuple[tuple[int, float], ...] = ()
    receive_buffer_bytes: int = 0
    send_buffer_bytes: int = 0
    tls: str | None = None
    no_delay: bool = False
    sample_interval_s: float = 0.010

    @property
    def client(self) -> str:
        """Role of the host that opens the connections."""
        return "sender" if self.kind is Kind.UPLOAD else "receiver"

    @property
    def server(self) -> str:
        """Role of the host that listens."""
        return "receiver" if self.kind is Kind.UPLOAD else "sender"


class NotDoneError(RuntimeError):
    """A transfer took longer than it was given."""


@dataclass(frozen=True, slots=True)
class TransferOutcome:
    """What both ends saw: per connection bytes, durations and digests, and a table of TCP_INFO each."""

    ends: dict[str, dict[str, Any]]
    tcp_info: dict[str, Path]

    @property
    def digests_agree(self) -> bool:
        """Every byte that one end sent arrived at the other, in order."""
        sent = sorted(
            end["sent_digest"] for role in self.ends.values() for end in role["connections"] if end["sent_bytes"]
        )
        got = sorted(
            end["got_digest"] for role in self.ends.values() for end in role["connections"] if end["got_bytes"]
        )
        return bool(sent) and sent == got


def run_transfer(transfer: Transfer, hosts: dict[str, Host], folder: Path, time_limit_s: float) -> TransferOutcome:
    """Run both ends to the end inside their namespaces; raises when one fails or the time limit passes."""
    if transfer.tls:
        make_certificate(folder)
    deadline_s = time.monotonic() + time_limit_s
    with ExitStack() as stack:
        server = _start(stack, "server", transfer, hosts[transfer.server], hosts[transfer.server].address, folder)
        if server.stdout is None or server.stdout.readline().strip() != "ready":
            raise RuntimeError(f"the server of the transfer did not start, see {folder / 'server.log'}")
        client = _start(stack, "client", transfer, hosts[transfer.client], hosts[transfer.server].address, folder)
        for name, process in (("client", client), ("server", server)):
            _finish(name, process, deadline_s, folder)
    for host in hosts.values():
        _wait_until_closed(host, deadline_s)
    ends = {role: json.loads((folder / f"{_end_name(transfer, role)}.json").read_text()) for role in hosts}
    return TransferOutcome(ends, {role: folder / f"tcp_info.{role}.csv" for role in hosts})


def make_certificate(folder: Path) -> None:
    """A self-signed RSA certificate for the test server, made by openssl and valid for a day."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=server.lab.test"]
    command += ["-keyout", str(folder / "server.key"), "-out", str(folder / "server.crt")]
    namespaces.run_program([*command, "-addext", "subjectAltName=DNS:server.lab.test"])


def _end_name(transfer: Transfer, role: str) -> str:
    return "client" if role == transfer.client else "server"


def _start(
    stack: ExitStack, end: str, transfer: Transfer, host: Host, address: str, folder: Path
) -> subprocess.Popen[str]:
    settings = folder / f"{end}.settings.json"
    document: dict[str, Any] = {"end": end, "address": address, "port": PORT, "transfer": asdict(transfer)}
    document["congestion_control"] = host.congestion_control
    document["tcp_info"] = str(folder / f"tcp_info.{host.role}.csv")
    document["result"] = str(folder / f"{end}.json")
    document["certificate"], document["key"] = str(folder / "server.crt"), str(folder / "server.key")
    settings.write_text(json.dumps(document))
    command = [*namespaces.exec_prefix(host.namespace), sys.executable, "-m", "vmtrace.lab.endpoint", str(settings)]
    log = stack.enter_context((folder / f"{end}.log").open("w"))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=module_environment())
    stack.callback(_kill, process)
    return process


def _finish(name: str, process: subprocess.Popen[str], deadline_s: float, folder: Path) -> None:
    try:
        status = process.wait(max(0.1, deadline_s - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise NotDoneError(f"the {name} of the transfer was not done in time") from error
    if status != 0:
        said = (folder / f"{name}.log").read_text().strip().splitlines()[-1:]
        raise RuntimeError(f"the {name} of the transfer failed: {' '.join(said)}")


def _wait_until_closed(host: Host, deadline_s: float) -> None:
    """A program may end while its kernel still repeats a FIN: the transfer is over when no connection is left."""
    while kernel_counters.open_connections(host.namespace) and time.monotonic() < deadline_s:
        time.sleep(0.02)


def _kill(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()

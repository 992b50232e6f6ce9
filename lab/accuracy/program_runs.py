"""One transfer of real programs in namespaces: captured at the sender, in the middle and at the receiver.

Leaves the captures, the emulator's log and `made.json`: what the log has of the data, and why times may be wrong.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from vmtrace.lab import fate_log, namespaces, timing, truth
from vmtrace.lab.accuracy.kernel_limits import put_on
from vmtrace.lab.accuracy.program_commands import FILE, Ends
from vmtrace.lab.accuracy.program_transfers import ProgramTransfer
from vmtrace.lab.capture_run import CaptureHealth, capturing
from vmtrace.lab.edit.capture import parse_capture, pcap_bytes
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.missing import BeginLater
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import (
    EmulatedPath,
    Host,
    HostSettings,
    Topology,
    end_process,
    joined_hosts,
    module_environment,
    route_congestion_control,
)

PLACES = ("sender", "middle", "receiver")
_MADE = "made.json"
_TIME_LIMIT_S, _START_LIMIT_S = 60.0, 10.0
_LISTENS = "0A"
_LISTENING_TABLES = ("tcp", "tcp6")


class NotMadeError(RuntimeError):
    """A program did not start, or did not end well."""


@dataclass(frozen=True, slots=True)
class Made:
    """What the emulator's log has of the data's direction, all connections together.

    The goodput is that from the first to the last packet with data. `problems` say why times may be wrong.
    """

    retransmitted_segments: int
    goodput_bps: float
    problems: tuple[str, ...]


def run(transfer: ProgramTransfer, folder: Path, attempts: int = 3) -> Made:
    """Carries it out, again while others keep the machine too busy; the last one stays. Raises NotMadeError."""
    made = _run_once(transfer, folder)
    for _ in range(attempts - 1):
        if not made.problems:
            break
        made = _run_once(transfer, folder)
    (folder / _MADE).write_text(json.dumps(asdict(made)))
    return made


def load(folder: Path) -> Made | None:
    """What an earlier run left; none if it left nothing."""
    known = folder / _MADE
    if not known.exists():
        return None
    shown = json.loads(known.read_text())
    return Made(shown["retransmitted_segments"], shown["goodput_bps"], tuple(shown["problems"]))


def _run_once(transfer: ProgramTransfer, folder: Path) -> Made:
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    # What an earlier run left is of other captures.
    (folder / _MADE).unlink(missing_ok=True)
    _write_file(folder / FILE, transfer.file_bytes, transfer.seed)
    settings = {
        role: HostSettings(
            transfer.congestion_control,
            segmentation_offload=transfer.offload,
            receive_offload=transfer.offload,
            sysctls={**transfer.sysctls, **(transfer.receiver_sysctls if role == "receiver" else {})},
        )
        for role in ("sender", "receiver")
    }
    emulator = EmulatorSettings(transfer.path.forward, transfer.path.reverse, transfer.seed)
    with joined_hosts(Topology.OFFLOAD, transfer.ip_version, 1500, settings, emulator, folder) as path:
        for host in path.hosts.values():
            route_congestion_control(host, transfer.ip_version)
        if transfer.kernel_limit:
            put_on(path, transfer.kernel_limit)
        with capturing(_captures(path, folder), 128) as captures:
            _programs_talk(transfer, path, folder)
            report = path.finish()
            health = [capture.stop() for capture in captures.values()]
        # Such a limit drops packets, which is what it is for.
        drops = 0 if transfer.kernel_limit else path.device_drops()
    if transfer.begins_at:
        for place in PLACES:
            _begin_later(folder / f"{place}.pcap", transfer.begins_at)
    rows = fate_log.read_binary(folder / "fates.bin", report["unix_offset_ns"])
    fate_log.write_csv(rows, folder / "fates.csv.gz")
    for name in ("fates.bin", "copy.bin", FILE):
        (folder / name).unlink(missing_ok=True)
    return made_of(rows, _problems(rows, report["long_turns"], health, drops))


def _begin_later(capture: Path, share: float) -> None:
    later = edit(parse_capture(capture.read_bytes()), BeginLater(share), seed=0).capture
    capture.write_bytes(pcap_bytes(later))


def _write_file(path: Path, size_bytes: int, seed: int) -> None:
    path.unlink(missing_ok=True)
    (path.parent / "copy.bin").unlink(missing_ok=True)
    path.write_bytes(random.Random(seed).randbytes(size_bytes))


def _captures(path: EmulatedPath, folder: Path) -> dict[str, tuple[str, str, Path]]:
    wanted = {role: (host.namespace, host.device, folder / f"{role}.pcap") for role, host in path.hosts.items()}
    return wanted | {"middle": (path.tun_namespaces["sender"], "tun0", folder / "middle.pcap")}


def _programs_talk(transfer: ProgramTransfer, path: EmulatedPath, folder: Path) -> None:
    """Starts the server, and the client once it listens; waits for the client's end and for what is still under way."""
    serving, asking = ("receiver", "sender") if transfer.uploads else ("sender", "receiver")
    ends = Ends(folder, path.hosts[serving].address)
    with ExitStack() as stack:
        server = stack.enter_context(
            _running(transfer.server.command(ends), path.hosts[serving], folder / "server.log")
        )
        _wait_until_it_listens(server, transfer.server.port, folder)
        command = transfer.client.command(ends)
        client = stack.enter_context(_running(command, path.hosts[asking], folder / "client.log"))
        try:
            status = client.wait(_TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise NotMadeError(f"{command[0]} did not end within {_TIME_LIMIT_S:.0f} s") from None
        if status:
            raise NotMadeError(f"{command[0]} ended with status {status}: {_last_line(folder / 'client.log')}")
        time.sleep(transfer.path.forward.delay_s + transfer.path.reverse.delay_s + 0.3)


@contextmanager
def _running(command: Sequence[str], host: Host, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*namespaces.exec_prefix(host.namespace), *command],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=module_environment(),
        )
    try:
        yield process
    finally:
        end_process(process)


def _wait_until_it_listens(server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    """Without a connection to try it: iperf3 would take that for its test, and the captures would have it."""
    deadline_s = time.monotonic() + _START_LIMIT_S
    while not listens(server.pid, port):
        if server.poll() is not None or time.monotonic() > deadline_s:
            raise NotMadeError(f"the server did not start: {_last_line(folder / 'server.log')}")
        time.sleep(0.02)


def listens(process_id: int, port: int) -> bool:
    """Somebody listens on a TCP port in the network namespace of a process."""
    for table in _LISTENING_TABLES:
        try:
            lines = Path(f"/proc/{process_id}/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[3] == _LISTENS and int(words[1].rpartition(":")[2], 16) == port:
                return True
    return False


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n") if log.exists() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def made_of(rows: Sequence[PacketFate], problems: Sequence[str]) -> Made:
    """What a log has of the data's direction."""
    flows = [flow for flow in truth.flows(rows) if flow.direction == "forward"]
    data = [row for row in rows if row.direction == "forward" and row.payload_bytes and not row.lost]
    if not data:
        raise NotMadeError("no data passed")
    duration_s = (max(row.time_out_ns for row in data) - min(row.time_in_ns for row in data)) / 1e9
    goodput_bps = sum(flow.unique_payload_bytes for flow in flows) * 8 / max(duration_s, 1e-9)
    return Made(sum(flow.retransmissions_sent for flow in flows), goodput_bps, tuple(problems))


def _problems(
    rows: Sequence[PacketFate], long_turns: list[tuple[int, int]], health: Sequence[CaptureHealth], drops: int
) -> list[str]:
    errors, standstills = timing.DelayErrors(), timing.Standstills(long_turns)
    for row in rows:
        errors.add(row)
        standstills.add(row)
    duration_s = (max(row.time_in_ns for row in rows) - min(row.time_in_ns for row in rows)) / 1e9 if rows else 0.0
    found = timing.problems(errors.summary(), standstills.merged(), duration_s)
    found += [] if all(each.whole for each in health) else ["a capture lost packets"]
    return found + ([f"devices dropped {drops} packets"] if drops else [])

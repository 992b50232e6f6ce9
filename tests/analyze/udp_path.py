"""Programs that speak UDP and ICMP across an emulated path: captures of both ends, and what the path dropped."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.analyze.on_loopback import recorded, started
from vmtrace.lab import fate_log, hosts, namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import EmulatedPath, HostSettings, Topology
from vmtrace.lab.impairments import Impairments


@dataclass(slots=True)
class Ends:
    """Where programs run, and what they call each other."""

    path: EmulatedPath
    folder: Path

    def inside(self, role: str) -> list[str]:
        """Words that run a program at the client (`sender`) or the server (`receiver`)."""
        return namespaces.exec_prefix(self.path.hosts[role].namespace)

    @property
    def server(self) -> str:
        """The server's address."""
        return self.path.hosts["receiver"].address

    def run(self, *words: object, timeout_s: float = 60.0) -> str:
        """What a program of the client prints."""
        call = [*self.inside("sender"), *map(str, words)]
        return subprocess.run(call, check=True, capture_output=True, text=True, timeout=timeout_s).stdout

    def python(self, program: str, *words: object) -> str:
        """The same of a program of ours."""
        return self.run(sys.executable, "-c", program, *words)

    @contextmanager
    def serving(self, words: Sequence[object], ready: str) -> Iterator[None]:
        """A program of the server, from the line with `ready` on."""
        with started([*self.inside("receiver"), *map(str, words)], ready):
            yield

    @property
    def client_pcap(self) -> Path:
        """Taken at the client."""
        return self.folder / "client.pcap"

    @property
    def server_pcap(self) -> Path:
        """Taken at the server."""
        return self.folder / "server.pcap"

    def fates(self) -> list[PacketFate]:
        """What became of each packet without TCP; the path ends with it."""
        report = self.path.finish()
        rows = fate_log.read_binary(self.path.log_path, report["unix_offset_ns"])
        return [row for row in rows if not row.source_port]


@contextmanager
def ends(folder: Path, forward: Impairments, reverse: Impairments, seed: int = 1) -> Iterator[Ends]:
    """A path between two hosts; `recording` is to be entered for captures."""
    plain = HostSettings(segmentation_offload=False, receive_offload=False)
    settings = {"sender": plain, "receiver": plain}
    emulator = EmulatorSettings(forward=forward, reverse=reverse, seed=seed)
    with hosts.joined_hosts(Topology.OFFLOAD, 4, 1500, settings, emulator, folder) as path:
        yield Ends(path, folder)


@contextmanager
def recording(there: Ends, what: str = "udp or icmp") -> Iterator[None]:
    """Both ends captured."""
    with ExitStack() as stack:
        for role, capture in (("sender", there.client_pcap), ("receiver", there.server_pcap)):
            device = there.path.hosts[role].device
            stack.enter_context(recorded(there.inside(role), capture, what, device))
        yield


def lost(fates: Sequence[PacketFate]) -> list[int]:
    """Packets that the path dropped, from the client and from the server."""
    return [sum(fate.lost for fate in fates if fate.direction == way) for way in ("forward", "reverse")]

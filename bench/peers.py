"""The programs that are measured, and how each is called. All read the same file and throw their output away."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Peer:
    """A program to measure, on at most `cpus` processors. A slow one gets only the first `prefix_packets`."""

    name: str
    command: tuple[str, ...]
    prefix_packets: int | None = None
    needs: str | None = None
    cpus: int | None = None

    @property
    def installed(self) -> bool:
        """True if its program is there."""
        return self.needs is None or shutil.which(self.needs) is not None

    def call(self, path: Path) -> list[str]:
        """The command line that reads `path`."""
        return [word.replace("FILE", str(path)) for word in self.command]


def vmtrace(out: Path | None = None) -> Peer:
    """The program itself: every connection, all measurements on, the summary as JSON to `out` or standard output."""
    script = Path(sys.executable).with_name("vmtrace")
    return Peer("vmtrace", (str(script), "analyze", "FILE", "--json", "-" if out is None else str(out)))


def walk(walker: Path) -> Peer:
    """The bare walk over record headers: no reader of pcap can be quicker."""
    return Peer("bare walk", (str(walker), "FILE"))


def minimal(program: Path) -> Peer:
    """The least that an analyzer of TCP must do: connections, round-trip times, segments sent again."""
    return Peer("minimal pass", (str(program), "FILE"))


def readers(walker: Path) -> list[Peer]:
    """The bytes of the file read, and nothing else: as everyone does it, and as quickly as reads of a MiB can."""
    return [Peer("cat", ("cat", "FILE"), needs="cat"), Peer("read", (str(walker), "--read", "FILE"))]


def others(prefix_packets: int) -> list[Peer]:
    """The peers of the field, quick ones on the whole file."""
    dpkt_loop = str(Path(__file__).with_name("dpkt_loop.py"))
    return [
        Peer("capinfos", ("capinfos", "-c", "-u", "-i", "FILE"), needs="capinfos"),
        Peer("tcptrace -l -r -n", ("tcptrace", "-l", "-r", "-n", "FILE"), needs="tcptrace"),
        Peer("dpkt loop", (sys.executable, dpkt_loop, "FILE"), prefix_packets),
        Peer("tshark conv,tcp", ("tshark", "-r", "FILE", "-q", "-z", "conv,tcp"), prefix_packets, "tshark"),
        Peer(
            "tshark two-pass ack_rtt",
            ("tshark", "-r", "FILE", "-2", "-T", "fields", "-e", "tcp.analysis.ack_rtt"),
            prefix_packets,
            "tshark",
        ),
    ]

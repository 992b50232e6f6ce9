"""Makes the captures of this folder: real transfers between real kernels over emulated paths (needs root, Linux).

    sudo python3 samples/make.py            # all of them
    sudo python3 samples/make.py lossy      # those whose name begins so

Writes the captures, `manifest.json` and `README.md`. Every expected number comes from the path's own log, none from
an analyzer. A run gives other packets each time (ports, initial sequence numbers, times), so the manifest is made with
them.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from vmtrace.lab import evidence, fate_log, kernel_counters, namespaces  # noqa: E402
from vmtrace.lab.capture_run import WHOLE_PACKETS_BYTES, Capture  # noqa: E402
from vmtrace.lab.description import Scenario  # noqa: E402
from vmtrace.lab.emulator import EmulatorSettings  # noqa: E402
from vmtrace.lab.evidence import Evidence  # noqa: E402
from vmtrace.lab.hosts import HostSettings, Topology, joined_hosts  # noqa: E402
from vmtrace.lab.impairments import Impairments  # noqa: E402
from vmtrace.lab.pcap_file import read_packets  # noqa: E402
from vmtrace.lab.scenario import Run, run  # noqa: E402
from vmtrace.lab.transfer import Kind, Transfer, run_transfer  # noqa: E402

_HEADERS_BYTES = 96
_FAR = Impairments(delay_s=0.05)
_MIDDLE = Impairments(delay_s=0.02, rate_bps=20e6, queue_bytes=1_000_000)


@dataclass(frozen=True, slots=True)
class Sample:
    """One run and the files kept of it. `keep` names each file and the capture point it shows."""

    scenario: Scenario
    keep: dict[str, str]
    look_for: str
    finish: Callable[[Path, Path], str] | None = None  # from a capture to the kept file; returns the command or deed
    rotated: bool = False
    own_run: Callable[[Sample, Path], list[dict[str, Any]]] | None = None  # without the emulator


def _as_pcapng(source: Path, target: Path) -> str:
    namespaces.run_program(["editcap", "-F", "pcapng", str(source), str(target)])
    return f"editcap -F pcapng {source.name} {target.name}"


def _as_modified_lz4(source: Path, target: Path) -> str:
    """Record headers of 24 bytes, as a patched libpcap around 1999 wrote them, compressed by LZ4."""
    modified = source.with_suffix(".modified")
    namespaces.run_program(["editcap", "-F", "modpcap", str(source), str(modified)])
    namespaces.run_program(["lz4", "-9", "-q", "-f", str(modified), str(target)])
    return f"editcap -F modpcap {source.name}, lz4 -9"


def _as_gzip(source: Path, target: Path) -> str:
    target.write_bytes(gzip.compress(source.read_bytes(), 9, mtime=0))
    return f"gzip -n9 {source.name}"


def _damage(source: Path, target: Path) -> str:
    """A copy broken off at a random byte, with a block in the middle that the disk returned as zeroes."""
    content = bytearray(source.read_bytes())
    dice = random.Random(2011)
    end = dice.randrange(len(content) * 9 // 10, len(content))
    block = dice.randrange(len(content) // 3 // 512, len(content) * 2 // 3 // 512) * 512
    content[block : block + 4096] = bytes(4096)
    target.write_bytes(content[:end])
    return f"bytes {block} to {block + 4095} set to zero, then cut to {end} of {len(content)} bytes"


def _samples() -> list[Sample]:
    return [*_of_loss(), *_of_limits(), *_of_tls(), *_of_packets(), *_of_files(), *_of_headers()]


def _of_loss() -> list[Sample]:
    """What losing packets looks like from both ends, and in a damaged file."""
    lossy = Scenario(
        "lossy",
        "An upload of 600 kB over a 40 ms path that loses 2 % of the packets at random.",
        Transfer(payload_bytes=600_000, seconds=20),
        replace(_MIDDLE, loss=0.02, spare_first=3),
        Impairments(delay_s=0.02),
        snaplen_bytes=_HEADERS_BYTES,
        seed=7,
    )
    return [
        Sample(
            lossy,
            {"lossy-sender.pcap": "sender", "lossy-receiver.pcap": "receiver"},
            "The same transfer from both ends. At the sender every repeat is a retransmission; at the receiver the "
            "lost originals are absent, and only holes that are filled late tell of them.",
        ),
        Sample(
            replace(lossy, name="damaged", story="A lossy transfer whose capture file was damaged later.", seed=8),
            {"damaged.pcap": "sender"},
            "A damaged file, not damaged traffic: a reader must skip the zeroes, find the next record, report how many "
            "bytes were lost, and not fail at the torn end. The expected numbers are those of the undamaged file.",
            _damage,
        ),
    ]  # fmt: skip


def _of_limits() -> list[Sample]:
    """What keeps a transfer slow on a path that could carry more."""
    return [
        Sample(
            Scenario(
                "window-limited",
                "An upload over a 100 ms path to a receiver with a receive buffer of 32 kB.",
                Transfer(payload_bytes=400_000, seconds=20, receive_buffer_bytes=16_384),
                _FAR, _FAR, snaplen_bytes=_HEADERS_BYTES,
            ),
            {"window-limited.pcap": "sender"},
            "The sender always fills the advertised window and then waits a round trip; nothing is lost.",
        ),
        Sample(
            Scenario(
                "zero-window",
                "The reading program sleeps 1.2 s in the middle of a transfer.",
                Transfer(payload_bytes=300_000, seconds=20, receive_buffer_bytes=16_384, read_pauses=((100_000, 1.2),)),
                Impairments(delay_s=0.01), Impairments(delay_s=0.01), snaplen_bytes=_HEADERS_BYTES,
            ),
            {"zero-window.pcap": "sender"},
            "The window shrinks to zero, window probes are answered, a window update restarts the transfer.",
        ),
        Sample(
            Scenario(
                "application-limited",
                "The sending program writes 6 kB every 50 ms; the 20 ms path could carry far more.",
                Transfer(payload_bytes=240_000, seconds=20, write_bytes=6_000, write_interval_s=0.05),
                replace(_MIDDLE, delay_s=0.01), Impairments(delay_s=0.01), snaplen_bytes=_HEADERS_BYTES,
            ),
            {"application-limited.pcap": "sender"},
            "Gaps of nearly 50 ms with nothing in flight and an open window.",
        ),
    ]  # fmt: skip


def _of_tls() -> list[Sample]:
    """Conversations under TLS."""
    exchange = Transfer(Kind.EXCHANGE, seconds=20, exchanges=6, request_bytes=300, response_bytes=9_000, think_s=0.05)
    return [
        Sample(
            Scenario("tls12", "Six questions and answers over TLS 1.2, 50 ms.", replace(exchange, tls="1.2"),
                     Impairments(delay_s=0.025), Impairments(delay_s=0.025), snaplen_bytes=WHOLE_PACKETS_BYTES),
            {"tls12.pcap": "receiver"},
            "Two round trips of handshake with the certificate in the clear, then application data, then the alert "
            "close_notify. The client is 198.18.2.1.",
        ),
        Sample(
            Scenario("tls13", "Six questions and answers over TLS 1.3, 50 ms.", replace(exchange, tls="1.3"),
                     Impairments(delay_s=0.025), Impairments(delay_s=0.025), snaplen_bytes=WHOLE_PACKETS_BYTES),
            {"tls13.pcap": "receiver"},
            "One round trip of handshake, certificate encrypted; session tickets follow the handshake.",
        ),
    ]  # fmt: skip


def _of_packets() -> list[Sample]:
    """Packets that are large, of another family, late or repeated."""
    return [
        Sample(
            Scenario(
                "offload",
                "An upload of 3 MB with offload at both hosts (segmentation, receive) and 0.5 % loss.",
                Transfer(payload_bytes=3_000_000, seconds=20),
                replace(_MIDDLE, delay_s=0.01, loss=0.005, rate_bps=40e6), Impairments(delay_s=0.01),
                HostSettings("bbr"), HostSettings("bbr"), Topology.OFFLOAD, snaplen_bytes=_HEADERS_BYTES, seed=3,
            ),
            {"offload-sender.pcap": "sender", "offload-receiver.pcap": "receiver"},
            "Packets far larger than the MTU: one frame is many wire segments; the expected numbers count segments.",
        ),
        Sample(
            Scenario(
                "ipv6",
                "A download over IPv6 with 2 % loss, kept as pcapng.",
                Transfer(Kind.DOWNLOAD, payload_bytes=500_000, seconds=20),
                replace(_MIDDLE, loss=0.02, spare_first=3), Impairments(delay_s=0.02), ip_version=6,
                snaplen_bytes=116, seed=5,
            ),
            {"ipv6.pcapng": "receiver"},
            "No IP-ID to lean on: retransmissions at the receiver are told from reordering by timestamps.",
            _as_pcapng,
        ),
        Sample(
            Scenario(
                "reordered",
                "3 % of the packets are held back 6 ms and 2 % arrive twice; nothing is lost.",
                Transfer(payload_bytes=600_000, seconds=20),
                replace(_MIDDLE, reorder=0.03, reorder_delay_s=0.006, duplicate=0.02), Impairments(delay_s=0.02),
                snaplen_bytes=_HEADERS_BYTES, seed=4,
            ),
            {"reordered-duplicated.pcap": "receiver"},
            "Late originals and copies made by the path, hardly a retransmission: an analyzer that counts losses here "
            "counts wrongly.",
        ),
    ]  # fmt: skip


def _of_files() -> list[Sample]:
    """What takes many connections, or more than one file."""
    return [
        Sample(
            Scenario(
                "short-connections",
                "Thirty connections of 12 kB in three lanes, 4 % loss both ways, kept compressed.",
                Transfer(payload_bytes=12_000, seconds=20, parallel=3, rounds=10),
                Impairments(delay_s=0.01, loss=0.04), Impairments(delay_s=0.01, loss=0.04),
                snaplen_bytes=_HEADERS_BYTES, seed=6,
            ),
            {"short-connections.pcap.gz": "sender"},
            "Lost SYNs cost a second each and lost tails a timeout: slow with little data.",
            _as_gzip,
        ),
        Sample(
            Scenario(
                "rotated",
                "One transfer in two files, as tcpdump -G leaves them.",
                Transfer(payload_bytes=300_000, seconds=20, write_bytes=8_000, write_interval_s=0.05),
                replace(_MIDDLE, loss=0.01), Impairments(delay_s=0.02), snaplen_bytes=_HEADERS_BYTES, seed=9,
            ),
            {"rotated-1.pcap": "sender", "rotated-2.pcap": "sender"},
            "The connection begins in the first file and ends in the second; expected numbers are of both together.",
            rotated=True,
        ),
        Sample(
            Scenario(
                "modified",
                "An upload of 200 kB with 2 % loss, kept as the pcap of a patched libpcap around 1999, in LZ4.",
                Transfer(payload_bytes=200_000, seconds=20),
                replace(_MIDDLE, loss=0.02, spare_first=3), Impairments(delay_s=0.02),
                snaplen_bytes=_HEADERS_BYTES, seed=12,
            ),
            {"modified.pcap.lz4": "sender"},
            "Another magic number (a1b2cd34) and record headers of 24 bytes; the packets are like any others.",
            _as_modified_lz4,
        ),
    ]  # fmt: skip


def _of_headers() -> list[Sample]:
    """Packets with headers between IP and TCP."""
    return [
        Sample(
            Scenario(
                "extension-headers",
                "An upload of 150 kB over IPv6 whose packets have extension headers, which the kernels write.",
                Transfer(payload_bytes=150_000),
                snaplen_bytes=176,
            ),
            {"extension-headers.pcap": "sender"},
            "Hop-by-hop options, a segment routing header and destination options stand before the TCP header; the "
            "server writes hop-by-hop and destination options alone. Two hosts on one wire: nothing is lost.",
            own_run=_run_with_headers,
        )
    ]


def _make(sample: Sample, work: Path) -> list[dict[str, Any]]:
    if sample.own_run:
        return sample.own_run(sample, work)
    done = _run_rotated(sample.scenario, work) if sample.rotated else run(sample.scenario, work, attempts=5)
    if not done.good:
        raise RuntimeError(f"{sample.scenario.name}: not a good run: {'; '.join(done.truth['problems'])}")
    entries = []
    for number, (name, side) in enumerate(sample.keep.items()):
        source = sorted(work.glob("part-*.pcap"))[number] if sample.rotated else work / f"{side}.pcap"
        deed = _keep(sample, source, HERE / name)
        entries.append(_entry(sample, name, side, deed, done.truth))
    return entries


def _keep(sample: Sample, source: Path, target: Path) -> str | None:
    if sample.finish:
        return sample.finish(source, target)
    shutil.copyfile(source, target)
    return None


def _run_rotated(scenario: Scenario, work: Path) -> Run:
    """As `vmtrace.lab.scenario.run`, with one capture at the sender that begins a new file every two seconds."""
    for _ in range(8):
        for leftover in work.iterdir():
            leftover.unlink()
        done = _run_rotated_once(scenario, work)
        if done.good and len(list(work.glob("part-*.pcap"))) == 2:
            return done
        time.sleep(0.3)
    raise RuntimeError("rotated: tcpdump did not leave two files")


def _run_rotated_once(scenario: Scenario, work: Path) -> Run:
    settings = {"sender": scenario.sender, "receiver": scenario.receiver}
    path_settings = EmulatorSettings(scenario.forward, scenario.reverse, scenario.seed)
    with ExitStack() as stack:
        path = stack.enter_context(
            joined_hosts(scenario.topology, scenario.ip_version, scenario.mtu, settings, path_settings, work)
        )
        hosts = path.hosts
        before = {role: kernel_counters.read(host.namespace) for role, host in hosts.items()}
        sender, receiver = hosts["sender"], hosts["receiver"]
        far = Capture(receiver.namespace, receiver.device, work / "receiver.pcap", _HEADERS_BYTES)
        stack.callback(far.kill)
        near = Capture(sender.namespace, sender.device, work / "part-%s.pcap", _HEADERS_BYTES, ["-G", "2"])
        stack.callback(near.kill)
        outcome = run_transfer(scenario.transfer, hosts, work, 60.0)
        report = path.finish()
        health = {"receiver": far.stop(), "sender": near.stop()}
        drops = path.device_drops()
        after = {role: kernel_counters.read(host.namespace) for role, host in hosts.items()}
    rows = fate_log.read_binary(path.log_path, report["unix_offset_ns"])
    packets = {
        "sender": [packet for part in sorted(work.glob("part-*.pcap")) for packet in read_packets(part)],
        "receiver": list(read_packets(work / "receiver.pcap")),
    }
    counters = {role: kernel_counters.added(before[role], after[role]) for role in hosts}
    known = Evidence(scenario, rows, report, outcome, counters, health, packets, drops)
    return Run(work, evidence.truth_document(known))


# Options of sockets in Linux (linux/in6.h) and what they put into each packet: eight bytes of padding options, and a
# route of one segment, the receiver (RFC 8754).
_HOP_BY_HOP, _ROUTING, _DESTINATION = 54, 57, 59
_PADDING = bytes([0, 0, 1, 4, 0, 0, 0, 0])
_ADDRESSES = {"sender": "fd00:18:1::1", "receiver": "fd00:18:1::2"}
_ROUTE = bytes([0, 2, 4, 0, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, _ADDRESSES["receiver"])
_PORT = 5810
# "tcp" alone knows no packet whose first header is another one.
_FILTER = ("ip6[6] == 0 and not ip6 multicast or",)


def _run_with_headers(sample: Sample, work: Path) -> list[dict[str, Any]]:
    """Two hosts on one wire. What was sent is known from the programs, what was retransmitted from the kernels."""
    spaces = {role: namespaces.namespace_name(role, 1) for role in _ADDRESSES}
    payload = random.Random(18).randbytes(sample.scenario.transfer.payload_bytes)
    with ExitStack() as stack:
        for space in spaces.values():
            namespaces.create(space)
            stack.callback(namespaces.delete, space)
        _join_by_wire(spaces)
        before = {role: kernel_counters.read(space) for role, space in spaces.items()}
        capture = Capture(spaces["sender"], "eth0", work / "sender.pcap", sample.scenario.snaplen_bytes, _FILTER)
        stack.callback(capture.kill)
        port = _transfer_with_headers(spaces, payload)
        time.sleep(0.3)
        health = capture.stop()
        after = {role: kernel_counters.read(space) for role, space in spaces.items()}
    counters = {role: kernel_counters.added(before[role], after[role]) for role in spaces}
    if not health.whole or any(counted.get("RetransSegs") for counted in counters.values()):
        raise RuntimeError(f"{sample.scenario.name}: a packet was lost")
    (name,) = sample.keep
    shutil.copyfile(work / "sender.pcap", HERE / name)
    segments = {role: counters[role]["OutSegs"] for role in spaces}
    data_segments = counters["sender"]["TCPOrigDataSent"]
    nothing = dict.fromkeys(("retransmitted_segments", "network_duplicates", "reordered_segments", "syn_repeats"), 0)
    seen = [
        {"direction": way, "source_port": ports[0], "destination_port": ports[1], "packets": segments[role]}
        | {"data_segments": count, "payload_bytes": length, "unique_payload_bytes": length}
        | {**nothing, "fin_repeats": 0}
        for way, role, ports, count, length in (
            ("forward", "sender", (port, _PORT), data_segments, len(payload)),
            ("reverse", "receiver", (_PORT, port), 0, 0),
        )
    ]  # fmt: skip
    truth = {
        "captures": {"sender": {"captured": health.captured, "data_packets": data_segments, "largest_ip_bytes": 1500}},
        "ends": {"sender": {"connections": [{"tls_version": None}]}},
        "seen_at": {"sender": seen},
        "forward": {"data_segments_sent": data_segments, "data_segments_arrived": data_segments},
        "reverse": {},
        "rtt": None,
        "counters": counters,
    }
    return [_entry(sample, name, "sender", None, truth)]


def _join_by_wire(spaces: dict[str, str]) -> None:
    ends = {role: ["eth0", "netns", space] for role, space in spaces.items()}
    namespaces.run_program(["ip", "link", "add", *ends["sender"], "type", "veth", "peer", "name", *ends["receiver"]])
    for role, space in spaces.items():
        inside = namespaces.exec_prefix(space)
        namespaces.run_program([*inside, "ip", "address", "add", f"{_ADDRESSES[role]}/64", "dev", "eth0", "nodad"])
        namespaces.run_program([*inside, "ip", "link", "set", "eth0", "up"])
        namespaces.run_program([*inside, "ethtool", "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"])
        namespaces.set_sysctls(space, {"net.ipv6.conf.eth0.seg6_enabled": "1", "net.ipv6.conf.all.seg6_enabled": "1"})


def _transfer_with_headers(spaces: dict[str, str], payload: bytes) -> int:
    """The client's port. The sockets ask for headers before they are connected: then the handshake has them, too."""
    with namespaces.inside(spaces["receiver"]):
        listener = socket.socket(socket.AF_INET6)
        listener.setsockopt(socket.IPPROTO_IPV6, _HOP_BY_HOP, _PADDING)
        listener.setsockopt(socket.IPPROTO_IPV6, _DESTINATION, _PADDING)
        listener.bind((_ADDRESSES["receiver"], _PORT))
        listener.listen()
    with namespaces.inside(spaces["sender"]):
        client = socket.socket(socket.AF_INET6)
        for option, header in ((_HOP_BY_HOP, _PADDING), (_ROUTING, _ROUTE), (_DESTINATION, _PADDING)):
            client.setsockopt(socket.IPPROTO_IPV6, option, header)
        client.settimeout(10.0)
        client.connect((_ADDRESSES["receiver"], _PORT))
    server, _ = listener.accept()
    with listener, client, server:
        reader = threading.Thread(target=_read_all, args=(server,))
        reader.start()
        client.sendall(payload)
        client.shutdown(socket.SHUT_WR)
        reader.join()
        return int(client.getsockname()[1])


def _read_all(server: socket.socket) -> None:
    while server.recv(1 << 16):
        pass


def _entry(sample: Sample, name: str, side: str, deed: str | None, truth: dict[str, Any]) -> dict[str, Any]:
    path = HERE / name
    return {
        "file": name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "bytes": path.stat().st_size,
        "run": sample.scenario.name,
        "parts": list(sample.keep) if sample.rotated else [name],
        "story": sample.scenario.story,
        "look_for": sample.look_for,
        "command": f"sudo python3 samples/make.py {sample.scenario.name}",
        "after_capture": deed,
        "capture_point": side,
        "data_sender": "server" if sample.scenario.transfer.kind is not Kind.UPLOAD else "client",
        "frames": truth["captures"][side]["captured"],
        "data_frames": truth["captures"][side]["data_packets"],
        "largest_ip_bytes": truth["captures"][side]["largest_ip_bytes"],
        "connections": len(truth["ends"]["sender"]["connections"]),
        "directions": truth["seen_at"][side],
        "path": {way: _path_truth(truth[way]) for way in ("forward", "reverse")},
        "rtt": truth["rtt"],
        "counters": truth["counters"],
        "tls": sorted({end["tls_version"] for end in truth["ends"]["sender"]["connections"]} - {None}),
    }


_PATH_NUMBERS = (
    "data_segments_sent", "data_segments_lost", "data_segments_arrived", "retransmissions_sent",
    "retransmissions_arrived", "retransmissions_lost", "unnecessary_retransmissions", "reordered_originals",
    "reordered_any", "duplicates_made", "window_probes_sent", "syn_repeats_sent", "fin_repeats_sent", "pure_acks_lost",
)  # fmt: skip


def _path_truth(totals: dict[str, int]) -> dict[str, int]:
    """What no single capture shows: losses and needless repeats on the whole path."""
    return {name: totals.get(name, 0) for name in _PATH_NUMBERS}


def _tools() -> dict[str, str]:
    def first_line(*command: str) -> str:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        return (said.stdout + said.stderr).strip().splitlines()[0]

    return {
        "kernel": f"{platform.system()} {platform.release()}",
        "tcpdump": first_line("tcpdump", "--version"),
        "editcap": first_line("editcap", "--version"),
        "openssl": first_line("openssl", "version"),
        "python": platform.python_version(),
    }


def _readme(manifest: dict[str, Any]) -> str:
    lines = [_INTRODUCTION]
    for _, group in groupby(manifest["samples"], key=lambda entry: entry["run"]):
        lines += _section(list(group))
    tools = ", ".join(f"{name}: {version}" for name, version in manifest["tools"].items())
    return "\n".join([*lines, f"Tools: {tools}.", ""])


def _section(entries: list[dict[str, Any]]) -> list[str]:
    """One run: what happened, what to look for, what was true, and its files."""
    first = entries[0]
    true = first["path"]["forward"]
    lines = [
        f"## {first['run']}",
        "",
        textwrap.fill(f"{first['story']} {first['look_for']}", 118),
        "",
        (
            f"* True: {true['data_segments_sent']} data segments sent, {true['data_segments_lost']} lost, "
            f"{true['data_segments_arrived']} arrived;"
        ),
        (
            f"  {true['retransmissions_sent']} retransmissions sent "
            f"({true['unnecessary_retransmissions']} needlessly), {true['retransmissions_arrived']} arrived;"
        ),
        f"  {true['reordered_originals']} originals overtaken, {true['duplicates_made']} copies made by the path.",
        f"* Made by `{first['command']}`.",
    ]
    for entry in entries:
        lines.append(f"* `{entry['file']}`: at the data {entry['capture_point']}, {entry['bytes']} bytes.")
        lines += [f"  After the capture: {entry['after_capture']}."] if entry["after_capture"] else []
        lines.append(f"  sha256 `{entry['sha256']}`")
    return [*lines, ""]


_INTRODUCTION = """# Samples

Small captures to try vmtrace on. Each is a real transfer between two Linux kernels in network namespaces, over a path
whose emulator logged the fate of every packet; the hosts are 198.18.1.1 / fd00:18:1::1 (`sender`, where the bulk of the
data comes from) and 198.18.2.1 / fd00:18:2::1 (`receiver`). Payload is random bytes.

`manifest.json` has the same for programs: per file the numbers an analyzer should find (`directions`: wire segments as
they passed that capture point; `path`: what happened between the ends). They come from the emulator's log, which was
checked against the kernels' counters (`RetransSegs`) and the number of packets in both captures. This file and the
manifest are written by `make.py`.
"""


def main(names: list[str]) -> int:
    """Make the samples whose run's name begins with one of `names`, or all."""
    manifest_path = HERE / "manifest.json"
    entries: dict[str, dict[str, Any]] = {}
    if manifest_path.exists():
        # Until a sample is made anew its old entry stands: who stops half-way has a whole manifest.
        entries = {entry["file"]: entry for entry in json.loads(manifest_path.read_text())["samples"]}
    samples = _samples()
    order = [name for sample in samples for name in sample.keep]
    for sample in samples:
        if names and not any(sample.scenario.name.startswith(name) for name in names):
            continue
        with tempfile.TemporaryDirectory() as work:
            for entry in _make(sample, Path(work)):
                entries[entry["file"]] = entry
                print(f"{entry['file']:28} {entry['bytes']:7} bytes", flush=True)
        _write(manifest_path, [entries[name] for name in order if name in entries])
    return 0


def _write(manifest_path: Path, samples: list[dict[str, Any]]) -> None:
    manifest = {"schema": "vmtrace.samples/1", "tools": _tools(), "samples": samples}
    manifest_path.write_text(json.dumps(manifest, indent=1) + "\n")
    (HERE / "README.md").write_text(_readme(manifest))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (namespaces.LabUnavailableError, RuntimeError) as error:
        print(f"samples: {error}", file=sys.stderr)
        sys.exit(1)

"""Two hosts in network namespaces, joined by the emulator, and always torn down.

Three shapes:
* `TUN`: each host has a TUN device; both see packets of the path's MTU.
* `OFFLOAD`: each host has a veth to a router of its own, and the routers hold the TUN devices. With segmentation
  offload the sender's capture sees superpackets, with receive offload the receiver's too; the path carries MTU size.
* `GUEST`: as `OFFLOAD`, but in the place of the sender's host is a TAP device of its router, for a guest kernel
  (`vmtrace.lab.guest`) that somebody else starts.

The data sender is always the host `sender`; which side opens the connection is the transfer's affair.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any

from vmtrace.lab import namespaces, processors
from vmtrace.lab.emulator import EmulatorSettings

ADDRESSES = {
    4: {"sender": "198.18.1.1", "receiver": "198.18.2.1"},
    6: {"sender": "fd00:18:1::1", "receiver": "fd00:18:2::1"},
}
ROUTERS = {
    4: {"sender": "198.18.1.254", "receiver": "198.18.2.254"},
    6: {"sender": "fd00:18:1::fe", "receiver": "fd00:18:2::fe"},
}
_PREFIXES = {
    4: {"sender": "198.18.1.0/24", "receiver": "198.18.2.0/24"},
    6: {"sender": "fd00:18:1::/64", "receiver": "fd00:18:2::/64"},
}
PREFIX_LENGTH = {4: 24, 6: 64}
GUEST_DEVICE = "tap0"
_SERIAL = itertools.count(1)
_MITIGATION_NS = 300_000
_QUEUE_PACKETS = 20000  # never let the TUN device drop what the log should have seen


class Topology(StrEnum):
    """How a host reaches the path."""

    TUN = "tun"
    OFFLOAD = "offload"
    GUEST = "guest"


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What a host's kernel is told. Congestion control is always set, never inherited from the machine.

    It is set on each socket: as a namespace's sysctl a kernel refuses algorithms that the machine does not allow all.
    """

    congestion_control: str = "cubic"
    sack: bool = True
    timestamps: bool = True
    window_scaling: bool = True
    segmentation_offload: bool = True
    receive_offload: bool = True
    offered_segment_bytes: int | None = None
    """MSS option of the host's SYNs, if its device's MTU is not to say. With more than the path takes the host is one
    that knows the path's MTU already (RFC 1191) and sends no larger segments."""
    sysctls: Mapping[str, str] = field(default_factory=dict)

    def as_sysctls(self) -> dict[str, str]:
        """Sysctls of this host in the order they are written."""
        return {
            "net.ipv4.tcp_sack": str(int(self.sack)),
            "net.ipv4.tcp_timestamps": str(int(self.timestamps)),
            "net.ipv4.tcp_window_scaling": str(int(self.window_scaling)),
            "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.tcp_rmem": "4096 131072 6291456",
            "net.ipv4.tcp_wmem": "4096 16384 4194304",
            **self.sysctls,
        }


@dataclass(frozen=True, slots=True)
class Host:
    """One end: its namespace, the device its traffic passes, its address."""

    role: str
    namespace: str
    device: str
    address: str
    congestion_control: str


@dataclass(slots=True)
class EmulatedPath:
    """A running path: both hosts, the namespaces that hold the TUN devices, and the emulator's process."""

    hosts: dict[str, Host]
    tun_namespaces: dict[str, str]
    emulator: subprocess.Popen[str]
    log_path: Path
    report_path: Path

    def finish(self, timeout_s: float = 10.0) -> dict[str, Any]:
        """Let packets on their way arrive, stop the emulator, return its report."""
        self.emulator.send_signal(signal.SIGTERM)
        self.emulator.wait(timeout_s)
        if self.emulator.returncode != 0 or not self.report_path.exists():
            raise RuntimeError(f"the path emulator ended with status {self.emulator.returncode}")
        report: dict[str, Any] = json.loads(self.report_path.read_text())
        return report

    def device_drops(self) -> int:
        """Packets lost in devices, outside the emulator's knowledge: must be 0 in a good run."""
        drops = sum(namespaces.device_drops(name, "tun0") for name in self.tun_namespaces.values())
        return drops + sum(namespaces.device_drops(host.namespace, host.device) for host in self.hosts.values())


@contextmanager
def joined_hosts(
    topology: Topology,
    ip_version: int,
    mtu: int,
    settings: Mapping[str, HostSettings],
    emulator: EmulatorSettings,
    folder: Path,
) -> Iterator[EmulatedPath]:
    """Make both hosts and the path between them; everything is gone afterwards, also on failure and SIGTERM."""
    namespaces.require()
    namespaces.delete_stale()
    with ExitStack() as stack:
        stack.enter_context(_sigterm_unwinds())
        names = _namespaces(stack, topology)
        descriptors = []
        for role in ("sender", "receiver"):
            descriptors.append(namespaces.open_tun(names[_tun_owner(role, topology)], "tun0"))
            stack.callback(os.close, descriptors[-1])
            _configure(role, topology, ip_version, mtu, names, settings[role])
        hosts = {
            role: Host(
                role, *_place(role, topology, names), ADDRESSES[ip_version][role], settings[role].congestion_control
            )
            for role in ("sender", "receiver")
        }
        tuns = {role: names[_tun_owner(role, topology)] for role in ("sender", "receiver")}
        path = _start_emulator(stack, descriptors, emulator, folder, hosts, tuns)
        processor = stack.enter_context(processors.one_kept_free())
        if processor is not None:
            os.sched_setaffinity(path.emulator.pid, {processor})
        yield path


def route_congestion_control(host: Host, ip_version: int) -> None:
    """Have every connection of the host use its algorithm, whatever its sockets ask for before they connect.

    A namespace's default (a sysctl) takes only algorithms that the machine allows everyone; a route takes any.
    """
    via = ROUTERS[ip_version][host.role]
    _ip(host.namespace, f"route change default via {via} dev eth0 congctl {host.congestion_control}", ip_version)


def _namespaces(stack: ExitStack, topology: Topology) -> dict[str, str]:
    serial = next(_SERIAL)
    roles = ["receiver"] if topology is Topology.GUEST else ["sender", "receiver"]
    if topology is not Topology.TUN:
        roles += ["sender-router", "receiver-router"]
    names = {}
    for role in roles:
        names[role] = namespaces.namespace_name(role, serial)
        stack.callback(namespaces.delete, names[role])
        namespaces.create(names[role])
    return names


def _tun_owner(role: str, topology: Topology) -> str:
    return role if topology is Topology.TUN else f"{role}-router"


def _is_guest(role: str, topology: Topology) -> bool:
    return topology is Topology.GUEST and role == "sender"


def _place(role: str, topology: Topology, names: Mapping[str, str]) -> tuple[str, str]:
    """Namespace and device of a host; a guest kernel's are those of its TAP device."""
    if _is_guest(role, topology):
        return names["sender-router"], GUEST_DEVICE
    return names[role], "tun0" if topology is Topology.TUN else "eth0"


def _configure(
    role: str, topology: Topology, ip_version: int, mtu: int, names: Mapping[str, str], settings: HostSettings
) -> None:
    namespace, tun_namespace = _place(role, topology, names)[0], names[_tun_owner(role, topology)]
    for name in {namespace, tun_namespace}:
        namespaces.set_sysctls(name, _quiet_sysctls(ip_version))
    if not _is_guest(role, topology):
        namespaces.set_sysctls(namespace, settings.as_sysctls())
    _ip(tun_namespace, f"link set tun0 mtu {mtu} txqueuelen {_QUEUE_PACKETS} up")
    far = _PREFIXES[ip_version]["receiver" if role == "sender" else "sender"]
    offered = f" advmss {settings.offered_segment_bytes}" if settings.offered_segment_bytes else ""
    _ip(tun_namespace, f"route add {far} dev tun0{offered}", ip_version)
    if topology is Topology.TUN:
        _address(namespace, "tun0", ADDRESSES[ip_version][role], ip_version)
    elif _is_guest(role, topology):
        _prepare_guest(ip_version, mtu, tun_namespace)
    else:
        _join_router(role, ip_version, mtu, namespace, tun_namespace, settings)


def _join_router(role: str, ip_version: int, mtu: int, namespace: str, router: str, settings: HostSettings) -> None:
    _ip(namespace, f"link add eth0 mtu {mtu} type veth peer name lan0 netns {router} mtu {mtu}")
    namespaces.set_sysctls(router, _forwarding(ip_version))
    _offloads(namespace, "eth0", settings.segmentation_offload, settings.receive_offload)
    # The kernel aggregates on a veth only what its peer did not already send as superpackets.
    _offloads(router, "lan0", False, False)
    _keep_order(router, "lan0")
    _address(namespace, "eth0", ADDRESSES[ip_version][role], ip_version)
    _address(router, "lan0", ROUTERS[ip_version][role], ip_version)
    _ip(namespace, f"link set eth0 txqueuelen {_QUEUE_PACKETS} up")
    _ip(router, f"link set lan0 txqueuelen {_QUEUE_PACKETS} up")
    offered = f" advmss {settings.offered_segment_bytes}" if settings.offered_segment_bytes else ""
    _ip(namespace, f"route add default via {ROUTERS[ip_version][role]} dev eth0{offered}", ip_version)
    if settings.receive_offload:
        # Packets reach the veth one write at a time: hold them a moment, as an interrupt-mitigating NIC does.
        _receive_mitigation(namespace, "eth0")


def _prepare_guest(ip_version: int, mtu: int, router: str) -> None:
    _ip(router, f"tuntap add dev {GUEST_DEVICE} mode tap")
    namespaces.set_sysctls(router, _forwarding(ip_version))
    _address(router, GUEST_DEVICE, ROUTERS[ip_version]["sender"], ip_version)
    _ip(router, f"link set {GUEST_DEVICE} mtu {mtu} txqueuelen {_QUEUE_PACKETS} up")


def _forwarding(ip_version: int) -> dict[str, str]:
    return {"net.ipv4.ip_forward" if ip_version == 4 else "net.ipv6.conf.all.forwarding": "1"}


def _receive_mitigation(namespace: str, device: str) -> None:
    folder = f"/sys/class/net/{device}"
    command = f"echo 1 > {folder}/napi_defer_hard_irqs; echo {_MITIGATION_NS} > {folder}/gro_flush_timeout"
    namespaces.run_program([*namespaces.exec_prefix(namespace), "sh", "-c", command])


def _keep_order(namespace: str, device: str) -> None:
    """Have one processor take what a device receives.

    A connection sends from whatever processor its program or an acknowledgement is on, and a veth without receive
    offload queues packets for each processor apart: they would overtake each other before they reach the path.
    """
    processor = min(os.sched_getaffinity(0))
    groups = [f"{(1 << processor) >> shift & 0xFFFFFFFF:08x}" for shift in range(processor // 32 * 32, -1, -32)]
    path = f"/sys/class/net/{device}/queues/rx-0/rps_cpus"
    command = f"test ! -e {path} || echo {','.join(groups)} > {path}"
    namespaces.run_program([*namespaces.exec_prefix(namespace), "sh", "-c", command])


def _offloads(namespace: str, device: str, segmentation: bool, receive: bool) -> None:
    tso, gro = ("on" if segmentation else "off"), ("on" if receive else "off")
    words = ["ethtool", "-K", device, "tso", tso, "gso", tso, "gro", gro]
    namespaces.run_program([*namespaces.exec_prefix(namespace), *words])


def _quiet_sysctls(ip_version: int) -> dict[str, str]:
    if ip_version == 4:
        return {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}
    return {"net.ipv6.conf.default.accept_dad": "0", "net.ipv6.conf.default.router_solicitations": "0"}


def _address(namespace: str, device: str, address: str, ip_version: int) -> None:
    nodad = " nodad" if ip_version == 6 else ""
    _ip(namespace, f"address add {address}/{PREFIX_LENGTH[ip_version]} dev {device}{nodad}", ip_version)


def _ip(namespace: str, words: str, ip_version: int = 4) -> None:
    namespaces.run_program(["ip", f"-{ip_version}", "-n", namespace, *words.split()])


def _start_emulator(
    stack: ExitStack,
    descriptors: list[int],
    settings: EmulatorSettings,
    folder: Path,
    hosts: dict[str, Host],
    tun_namespaces: dict[str, str],
) -> EmulatedPath:
    settings_path, log_path, report_path = (folder / name for name in ("path.json", "fates.bin", "emulator.json"))
    settings_path.write_text(json.dumps(asdict(settings)))
    report_path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "vmtrace.lab.emulator", "--descriptors", *map(str, descriptors)]
    command += ["--settings", str(settings_path), "--log", str(log_path), "--report", str(report_path)]
    process = subprocess.Popen(
        command,
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        text=True,
        env=module_environment(),
        start_new_session=True,  # Ctrl-C is not for it: packets on their way must still arrive
    )
    stack.callback(end_process, process)
    if process.stdout is None or process.stdout.readline().strip() != "ready":
        raise RuntimeError("the path emulator did not start")
    return EmulatedPath(hosts, tun_namespaces, process, log_path, report_path)


def module_environment() -> dict[str, str]:
    """Environment in which a child Python finds this package, from whatever folder it is started."""
    root = str(Path(__file__).absolute().parents[2])  # not resolved: the link in vmtrace/ is the way in
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}


def end_process(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Ask it to end, and end it if it has not within three seconds."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout:
        process.stdout.close()


@contextmanager
def _sigterm_unwinds() -> Iterator[None]:
    """Turn SIGTERM into an exception while hosts exist, so that context managers tear them down."""

    def unwind(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, unwind)
    except ValueError:  # not the main thread: its owner handles signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

"""What the host is: kernel, processors, virtualisation, memory, interface and driver, TCP settings, clock, instance.

Taken once for each run, beside the counters that change. Every part is None where it cannot be told; nothing needs a
privilege. Names are those of the kernel's files.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.clock import ClockState, clock_state
from vmtrace.capture.ethtool import DriverInfo, Ethtool, Offloads, Queues, Rings
from vmtrace.capture.instance_metadata import InstanceMetadata, instance_metadata
from vmtrace.capture.link import LinkReader
from vmtrace.formats.provenance import vmtrace_version

SCHEMA = "vmtrace.host_facts/1"


@dataclass(frozen=True)
class SystemFacts:
    """The software that a run depends on."""

    host: str
    kernel: str
    kernel_build: str
    distribution: str | None
    machine: str
    python: str


@dataclass(frozen=True)
class CpuFacts:
    """Processors that this process may use, and what they are."""

    online: int | None
    usable: int | None
    model: str | None
    mhz: float | None
    governor: str | None


@dataclass(frozen=True)
class Virtualisation:
    """What firmware, hypervisor and processor say of where this machine runs."""

    vendor: str | None
    product: str | None
    hypervisor: str | None
    """Of /sys/hypervisor/type: `xen`."""
    hypervisor_flag: bool | None
    """The processor says that it is a virtual one; None where processors have no such flag."""


@dataclass(frozen=True)
class TcpSettings:
    """Sysctls below net: what a connection starts with."""

    congestion_control: str | None
    congestion_controls_available: tuple[str, ...] | None
    rmem_bytes: tuple[int, ...] | None
    wmem_bytes: tuple[int, ...] | None
    rmem_max_bytes: int | None
    wmem_max_bytes: int | None
    window_scaling: int | None
    timestamps: int | None
    sack: int | None
    ecn: int | None
    slow_start_after_idle: int | None
    no_metrics_save: int | None
    mtu_probing: int | None
    netdev_max_backlog: int | None
    default_qdisc: str | None


@dataclass(frozen=True)
class HostFacts:
    """Everything about one host."""

    vmtrace: str
    system: SystemFacts
    cpu: CpuFacts
    virtualisation: Virtualisation
    memory_bytes: int | None
    interface: InterfaceFacts | None
    tcp: TcpSettings
    clock: ClockState
    instance: InstanceMetadata | None

    def as_record(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema": SCHEMA, **asdict(self)}


def host_facts(interface: str | None, metadata: bool = True, root: Path = Path("/")) -> HostFacts:
    """Facts of this host now; `metadata` allows the question to the metadata service of an EC2 instance."""
    return HostFacts(
        vmtrace=vmtrace_version(),
        system=_system(root),
        cpu=_cpu(root),
        virtualisation=_virtualisation(root),
        memory_bytes=_memory_bytes(_read(root / "proc/meminfo")),
        interface=None if interface is None else interface_facts(interface),
        tcp=_tcp(root / "proc/sys/net"),
        clock=clock_state(root),
        instance=instance_metadata(root) if metadata else None,
    )


def _system(root: Path) -> SystemFacts:
    name = os.uname()
    release = _read(root / "etc/os-release") or _read(root / "usr/lib/os-release") or ""
    pretty = re.search(r'^PRETTY_NAME="?([^"\n]*)"?$', release, re.MULTILINE)
    return SystemFacts(
        host=name.nodename,
        kernel=name.release,
        kernel_build=name.version,
        distribution=pretty.group(1) if pretty else None,
        machine=name.machine,
        python=f"{platform.python_implementation()} {sys.version.split()[0]}",
    )


def _cpu(root: Path) -> CpuFacts:
    information = _read(root / "proc/cpuinfo") or ""
    model = re.search(r"^(?:model name|Model|cpu model)\s*: *(\S.*)$", information, re.MULTILINE)
    mhz = re.search(r"^cpu MHz\s*: *([0-9]+\.[0-9]+)$", information, re.MULTILINE | re.ASCII)
    return CpuFacts(
        online=os.cpu_count(),
        usable=len(os.sched_getaffinity(0)),
        model=model.group(1).strip() if model else None,
        mhz=float(mhz.group(1)) if mhz else None,
        governor=_read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    )


def _virtualisation(root: Path) -> Virtualisation:
    firmware = root / "sys/class/dmi/id"
    flags = re.search(r"^flags\s*:(.*)$", _read(root / "proc/cpuinfo") or "", re.MULTILINE)
    return Virtualisation(
        vendor=_read(firmware / "sys_vendor"),
        product=_read(firmware / "product_name"),
        hypervisor=_read(root / "sys/hypervisor/type"),
        hypervisor_flag="hypervisor" in flags.group(1).split() if flags else None,
    )


def _memory_bytes(text: str | None) -> int | None:
    total = re.search(r"^MemTotal: +([0-9]+) kB$", text or "", re.MULTILINE)
    return int(total.group(1)) * 1024 if total else None


def _tcp(net: Path) -> TcpSettings:
    ipv4 = net / "ipv4"
    available = _read(ipv4 / "tcp_available_congestion_control")
    return TcpSettings(
        congestion_control=_read(ipv4 / "tcp_congestion_control"),
        congestion_controls_available=None if available is None else tuple(available.split()),
        rmem_bytes=_numbers(ipv4 / "tcp_rmem"),
        wmem_bytes=_numbers(ipv4 / "tcp_wmem"),
        rmem_max_bytes=_number(net / "core/rmem_max"),
        wmem_max_bytes=_number(net / "core/wmem_max"),
        window_scaling=_number(ipv4 / "tcp_window_scaling"),
        timestamps=_number(ipv4 / "tcp_timestamps"),
        sack=_number(ipv4 / "tcp_sack"),
        ecn=_number(ipv4 / "tcp_ecn"),
        slow_start_after_idle=_number(ipv4 / "tcp_slow_start_after_idle"),
        no_metrics_save=_number(ipv4 / "tcp_no_metrics_save"),
        mtu_probing=_number(ipv4 / "tcp_mtu_probing"),
        netdev_max_backlog=_number(net / "core/netdev_max_backlog"),
        default_qdisc=_read(net / "core/default_qdisc"),
    )


def _numbers(path: Path) -> tuple[int, ...] | None:
    words = (_read(path) or "").split()
    return tuple(map(int, words)) if words and all(re.fullmatch(r"-?[0-9]+", word) for word in words) else None


def _number(path: Path) -> int | None:
    values = _numbers(path)
    return values[0] if values else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None  # not in this kernel, not in this container, or for root alone


@dataclass(frozen=True)
class InterfaceFacts:
    """One interface; every part None where driver or kernel do not tell."""

    name: str
    driver: DriverInfo | None
    mtu_bytes: int | None
    state: str | None
    speed_bps: int | None
    addresses: tuple[str, ...] | None
    qdisc: str | None
    """At the root of the interface; `mq` has one of the default discipline for each queue."""
    tx_queue_length: int | None
    queues: Queues | None
    rings: Rings | None
    offloads: Offloads
    features: Mapping[str, bool] | None
    """All of them, by the kernel's names."""


def interface_facts(name: str) -> InterfaceFacts | None:
    """Facts of an interface in the caller's network namespace; None if there is no such interface."""
    reader = LinkReader()
    try:
        link = reader.link(name)
        addresses = None if link is None else tuple(reader.addresses(link.index))
    finally:
        reader.close()
    if link is None:
        return None
    with Ethtool(name) as nic:
        return InterfaceFacts(
            name=name,
            driver=nic.driver(),
            mtu_bytes=link.mtu_bytes,
            state=link.state,
            speed_bps=nic.speed_bps(),
            addresses=addresses,
            qdisc=link.qdisc,
            tx_queue_length=link.tx_queue_length,
            queues=nic.queues(),
            rings=nic.rings(),
            offloads=nic.offloads(),
            features=nic.features(),
        )

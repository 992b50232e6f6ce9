"""Linux network namespaces, TUN devices and sysctls, by system call.

Owns the few kernel calls the lab needs; which hosts exist and how they are joined is decided in `hosts`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_IFF_TUN = 0x0001
_IFF_NO_PI = 0x1000
_NAMED = Path("/run/netns")
_PREFIX = "vmt"
_OURS = re.compile(rf"{_PREFIX}(\d+)-")
_LIBC = ctypes.CDLL(None, use_errno=True)


class LabUnavailableError(RuntimeError):
    """The lab cannot run on this machine; the message is one line that says what is missing."""


def missing_requirement() -> str | None:
    """What keeps the lab from running here, in one line, or None when everything is there."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        return "the lab needs Linux: it joins network namespaces through TUN devices"
    if os.geteuid() != 0:
        return "the lab needs root: it makes network namespaces and TUN devices (try sudo)"
    if not Path("/dev/net/tun").exists():
        return "the lab needs /dev/net/tun: load the tun module (modprobe tun) or pass the device into the container"
    for program in ("ip", "setpriv", "ethtool", "tcpdump", "openssl"):
        if shutil.which(program) is None:
            return (
                f"the lab needs the program {program}: install it (Debian: iproute2 util-linux ethtool tcpdump openssl)"
            )
    return _refused_namespace()


def require() -> None:
    """Raise `LabUnavailableError` with one clear line when the lab cannot run here."""
    reason = missing_requirement()
    if reason:
        raise LabUnavailableError(reason)


def run_program(arguments: Sequence[str]) -> str:
    """Run a setup command and return its output; a failure names the command and what it said."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}: {said}")
    return done.stdout


def namespace_name(host: str, serial: int) -> str:
    """A name no other process uses: it carries this process's id, so that a dead owner can be recognised."""
    return f"{_PREFIX}{os.getpid()}-{serial}{host}"


def create(name: str) -> None:
    """Make a named network namespace with its loopback up."""
    run_program(["ip", "netns", "add", name])
    run_program(["ip", "-n", name, "link", "set", "lo", "up"])


def delete(name: str) -> None:
    """Remove a namespace and every device in it; a namespace that is gone already is fine."""
    if exists(name):
        run_program(["ip", "netns", "delete", name])


def exists(name: str) -> bool:
    """Whether there is such a namespace."""
    return (_NAMED / name).exists()


def is_ours(name: str) -> bool:
    """Whether the name is one that `namespace_name` gives, of whatever process."""
    return _OURS.match(name) is not None


def delete_stale() -> list[str]:
    """Remove namespaces whose owning process died without tearing them down (kill -9); returns their names."""
    removed = []
    for path in sorted(_NAMED.glob(f"{_PREFIX}*")) if _NAMED.exists() else []:
        match = _OURS.match(path.name)
        if match and not Path(f"/proc/{match.group(1)}").exists():
            try:
                delete(path.name)
                removed.append(path.name)
            except RuntimeError:
                continue  # another process is removing the same leftovers
    return removed


@contextmanager
def inside(name: str) -> Iterator[None]:
    """Run the calling thread in a namespace; sockets, TUN devices and /proc/thread-self/net are that host's."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        target = os.open(_NAMED / name, os.O_RDONLY)
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def exec_prefix(name: str) -> list[str]:
    """Words to put before a command line so that it runs in the namespace, under the same process id.

    The kernel ends it with its parent, so that not even `kill -9` of a run leaves programs behind.
    """
    return ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", name]


def open_tun(namespace: str, device: str) -> int:
    """Create a TUN device in a namespace; the file descriptor carries bare IP packets and is non-blocking."""
    with inside(namespace):
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI)
        try:
            fcntl.ioctl(descriptor, _TUNSETIFF, request)
        except OSError:
            os.close(descriptor)
            raise
    return descriptor


def set_sysctls(namespace: str, values: Mapping[str, str]) -> None:
    """Write sysctls (dotted names below net) in a namespace; names the one the kernel refuses."""
    with inside(namespace):
        for name, value in values.items():
            path = Path("/proc/sys") / name.replace(".", "/")
            try:
                path.write_text(value)
            except OSError as error:
                raise RuntimeError(f"sysctl {name}={value}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """What the kernel has counted of a device since it was made; bytes are those of whole frames (no checksum, FCS)."""

    received_bytes: int
    received_packets: int
    sent_bytes: int
    sent_packets: int
    drops: int  # by the device, errors included, in either direction


def device_counters(namespace: str, device: str) -> DeviceCounters:
    """The kernel's counters of a device (/proc/net/dev)."""
    with inside(namespace):
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == device:
                fields = [int(number) for number in numbers.split()]
                drops = fields[2] + fields[3] + fields[10] + fields[11]
                return DeviceCounters(fields[0], fields[1], fields[8], fields[9], drops)
    raise RuntimeError(f"no device {device} in {namespace}")


def device_drops(namespace: str, device: str) -> int:
    """Packets the device itself dropped in either direction: these no emulator log can know."""
    return device_counters(namespace, device).drops


def _enter(descriptor: int) -> None:
    if _LIBC.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def _refused_namespace() -> str | None:
    probe = namespace_name("probe", 0)
    try:
        create(probe)
        os.close(open_tun(probe, "probe"))
    except (OSError, RuntimeError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EPERM, errno.EACCES, errno.ENODEV):
            return f"the lab cannot make a TUN device here: {error.strerror}"
        return f"the lab may not make namespaces or TUN devices here (capability CAP_NET_ADMIN, CAP_SYS_ADMIN): {error}"
    finally:
        delete(probe)
    return None

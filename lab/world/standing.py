"""Puts a world up: a namespace for the far side, two for each vantage point (a host and its router), the carrier."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab import namespaces
from vmtrace.lab.hosts import end_process, module_environment
from vmtrace.lab.services import certificates
from vmtrace.lab.services.certificates import Certificates, KeyKind
from vmtrace.lab.services.delayed_path import resolver_of
from vmtrace.lab.world import plan
from vmtrace.lab.world.plan import World

_QUEUE_PACKETS = "20000"
_FAR_DEFAULT_S = 0.001
_QUIET = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv6.conf.default.disable_ipv6": "1"}


@dataclass(frozen=True, slots=True)
class Standing:
    """A world that is up: where programs of each vantage point run, and the authority that signed its certificates."""

    world: World
    hosts: dict[str, str]
    """Namespace by vantage point."""
    ca_path: Path

    def command(self, vantage: str, words: Sequence[str]) -> list[str]:
        """A command line that runs at the vantage point, and resolves names there."""
        return [*namespaces.exec_prefix(self.hosts[vantage]), *words]


@contextmanager
def standing(world: World, drawn_by: dict[str, int], folder: Path) -> Iterator[Standing]:
    """Up while the block lasts. `drawn_by` are the arguments of `plan.draw`, for the servers' process.

    Raises `namespaces.LabUnavailableError` where namespaces cannot be made.
    """
    namespaces.require()
    namespaces.delete_stale()
    with ExitStack() as stack:
        far = _namespace(stack, "far", 0)
        descriptors = [_far_side(stack, world, far)]
        hosts = {}
        for number, vantage in enumerate(world.vantages, 1):
            hosts[vantage], descriptor = _vantage(stack, number)
            descriptors.append(descriptor)
            stack.enter_context(resolver_of(hosts[vantage], plan.REVERSE_SERVER))
        _carrier(stack, world, descriptors, folder)
        made = _certificates(world, folder)
        _servers(stack, far, drawn_by, made, folder)
        yield Standing(world, hosts, made[0].ca_path)


def ways(world: World) -> dict[str, Any]:
    """The carrier's settings: every delay, and every router on the way."""
    places = {one.address: world.site(one.site).place for one in world.front_ends}
    routers = {one.address: world.routers[one.site] for one in world.front_ends}
    others = {one.address: one.place for one in world.resolvers} | world.landmarks

    def way(vantage: str, address: str) -> dict[str, Any]:
        one_way_s = world.one_way_s(vantage, (places | others)[address])
        transit = [(router.address, 0.0004) for router in world.transit[vantage]]
        near = [
            (router.address, one_way_s - 0.0002 * left)
            for left, router in zip(range(2, 0, -1), routers.get(address, ()), strict=False)
        ]
        return {"one_way_s": one_way_s, "routers": [*transit, *near]}

    return {
        "vantages": [_host_address(number) for number in range(1, len(world.vantages) + 1)],
        "ways": [{address: way(vantage, address) for address in places | others} for vantage in world.vantages],
        "default": {"one_way_s": _FAR_DEFAULT_S, "routers": []},
    }


def _host_address(number: int) -> str:
    return f"198.19.{number}.2"


def _namespace(stack: ExitStack, role: str, number: int) -> str:
    name = namespaces.namespace_name(f"w{role}", number)
    stack.callback(namespaces.delete, name)
    namespaces.create(name)
    namespaces.set_sysctls(name, _QUIET)
    return name


def _tun(stack: ExitStack, namespace: str) -> int:
    descriptor = namespaces.open_tun(namespace, "tun0")
    stack.callback(os.close, descriptor)
    _ip(namespace, f"link set tun0 mtu 1500 txqueuelen {_QUEUE_PACKETS} up")
    return descriptor


def _far_side(stack: ExitStack, world: World, far: str) -> int:
    descriptor = _tun(stack, far)
    addresses = [one.address for one in world.front_ends] + [one.address for one in world.resolvers]
    addresses += [*world.landmarks, *plan.lie_addresses(), plan.REVERSE_SERVER]
    batch = "".join(f"address add {address}/32 dev lo\n" for address in addresses)
    done = subprocess.run(["ip", "-n", far, "-batch", "-"], input=batch, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"addresses of the far side: {done.stderr.strip()}")
    _ip(far, "route add default dev tun0")
    return descriptor


def _vantage(stack: ExitStack, number: int) -> tuple[str, int]:
    host, router = _namespace(stack, "host", number), _namespace(stack, "router", number)
    descriptor = _tun(stack, router)
    _ip(host, f"link add eth0 type veth peer name lan0 netns {router}")
    for namespace, device, address in ((host, "eth0", _host_address(number)), (router, "lan0", f"198.19.{number}.1")):
        _ip(namespace, f"address add {address}/24 dev {device}")
        _ip(namespace, f"link set {device} up")
    _ip(host, f"route add default via 198.19.{number}.1")
    _ip(router, "route add default dev tun0")
    namespaces.set_sysctls(router, {"net.ipv4.ip_forward": "1"})
    return host, descriptor


def _carrier(stack: ExitStack, world: World, descriptors: Sequence[int], folder: Path) -> None:
    settings = folder / "ways.json"
    settings.write_text(json.dumps(ways(world)))
    words = [sys.executable, "-m", "vmtrace.lab.world.emulator", "--settings", str(settings)]
    words += ["--descriptors", *map(str, descriptors)]
    _ready(stack, words, "the carrier of the world's packets", pass_fds=tuple(descriptors))


def _certificates(world: World, folder: Path) -> list[Certificates]:
    names = world.names()
    service = certificates.make(folder / "service", KeyKind.ECDSA, names)
    return [service, certificates.make(folder / "other", KeyKind.ECDSA, ["other.invalid"])]


def _servers(stack: ExitStack, far: str, drawn_by: dict[str, int], made: Sequence[Certificates], folder: Path) -> None:
    settings = folder / "servers.json"
    files = [(str(one.chain_path), str(one.key_path)) for one in made]
    settings.write_text(json.dumps({"world": drawn_by, "certificates": files}))
    words = [*namespaces.exec_prefix(far), sys.executable, "-m", "vmtrace.lab.world.servers", str(settings)]
    _ready(stack, words, "the servers of the world")


def _ready(stack: ExitStack, words: Sequence[str], what: str, pass_fds: tuple[int, ...] = ()) -> None:
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=module_environment(), pass_fds=pass_fds, start_new_session=True
    )
    stack.callback(end_process, process)
    if process.stdout is None or process.stdout.readline().strip() != "ready":
        raise RuntimeError(f"{what} did not start")


def _ip(namespace: str, words: str) -> None:
    namespaces.run_program(["ip", "-n", namespace, *words.split()])

"""The stand-ins behind an emulated path: client and servers in two namespaces, so that handshakes cost a round trip.

The MTU is 1,500 bytes and nothing is offloaded: a capture at the client sees the packets of the wire. Every service
has an address and a host name of its own on port 443, as the clouds' have; a name server on the far side tells them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from vmtrace.lab import hosts, namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import EmulatedPath, HostSettings, Topology
from vmtrace.lab.impairments import DelayStep, Impairments, TokenBucket
from vmtrace.lab.services import azurite, name_server
from vmtrace.lab.services.service import REGION, Place

MTU_BYTES = 1500
PORT = 443
DOMAIN = "lab.test"  # RFC 6761: nobody's
# What certificates must hold for the names below.
CERTIFICATE_NAMES = (f"*.{REGION}.{DOMAIN}", f"*.blob.{DOMAIN}")
HOST_NAMES = {
    "s3": f"s3.{REGION}.{DOMAIN}",
    "glacier": f"glacier.{REGION}.{DOMAIN}",
    "azure": f"{azurite.ACCOUNT}.blob.{DOMAIN}",
    "swift": f"swift.{REGION}.{DOMAIN}",
    "sqs": f"sqs.{REGION}.{DOMAIN}",
}
_ADDRESSES = {name: f"198.18.2.{number}" for number, name in enumerate(HOST_NAMES, 11)}
_NAME_SERVER = "198.18.2.53"
# A window of some 0.5 MB for each connection: the two that boto3 opens for an object of the demo fit into its path and
# queue, so that nothing is lost there.
_WINDOW = {"net.ipv4.tcp_rmem": "4096 131072 1048576"}
_RESOLVER_FILES = Path("/etc/netns")  # `ip netns exec` mounts what is in here over /etc


@dataclass(frozen=True, slots=True)
class DelayedPath:
    """A path that is up: where the client runs, what it captures on, and where each service is to be started."""

    path: EmulatedPath
    client_namespace: str
    client_device: str
    places: Mapping[str, Place]

    def client_command(self, words: Sequence[str]) -> list[str]:
        """A command line that runs where the client is, and resolves names there."""
        return [*namespaces.exec_prefix(self.client_namespace), *words]


@dataclass(frozen=True, slots=True)
class Planted:
    """What a path has besides a delay and a rate: the truth that reports are held to."""

    delay_steps: tuple[DelayStep, ...] = ()
    """Of each direction."""
    token_bucket: TokenBucket | None = None
    """For what the client receives."""
    upload_bucket: TokenBucket | None = None
    """For what it sends."""
    window_scaling: bool = True
    """Whether the services offer it."""
    more_addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further addresses of a service, by its name in `HOST_NAMES`."""
    ttl_s: int = 60
    """Of the names."""


NOTHING = Planted()


@contextmanager
def joined(
    folder: Path, rtt_s: float, rate_bps: float = 0.0, queue_bytes: int = 0, planted: Planted = NOTHING
) -> Iterator[DelayedPath]:
    """Make the path while the block lasts; `rate_bps` 0 is as fast as this machine.

    Raises `namespaces.LabUnavailableError` where namespaces cannot be made.
    """
    direction = Impairments(
        delay_s=rtt_s / 2, rate_bps=rate_bps, queue_bytes=queue_bytes, delay_steps=planted.delay_steps
    )
    back = replace(direction, token_bucket=planted.token_bucket)
    plain = HostSettings(segmentation_offload=False, receive_offload=False, sysctls=_WINDOW)
    settings = {"sender": plain, "receiver": replace(plain, window_scaling=planted.window_scaling)}
    forth = replace(direction, token_bucket=planted.upload_bucket)
    emulator = EmulatorSettings(forward=forth, reverse=back, seed=1)
    with ExitStack() as stack:
        path = stack.enter_context(hosts.joined_hosts(Topology.OFFLOAD, 4, MTU_BYTES, settings, emulator, folder))
        client, far = path.hosts["sender"], path.hosts["receiver"]
        more = [address for addresses in planted.more_addresses.values() for address in addresses]
        for address in (*_ADDRESSES.values(), *more, _NAME_SERVER):
            namespaces.run_program(["ip", "-n", far.namespace, "address", "add", f"{address}/24", "dev", far.device])
        zone = name_server.Zone(
            {HOST_NAMES[name]: [one, *planted.more_addresses.get(name, ())] for name, one in _ADDRESSES.items()},
            planted.ttl_s,
        )
        stack.enter_context(name_server.started(zone, _NAME_SERVER, far.namespace))
        stack.enter_context(resolver_of(client.namespace, _NAME_SERVER))
        places = {name: Place(_ADDRESSES[name], far.namespace, PORT, HOST_NAMES[name]) for name in HOST_NAMES}
        yield DelayedPath(path, client.namespace, client.device, places)


@contextmanager
def resolver_of(namespace: str, address: str) -> Iterator[None]:
    """Have programs that `ip netns exec` starts in the namespace ask the name server at this address."""
    _remove_stale()
    folder = _RESOLVER_FILES / namespace
    folder.mkdir(parents=True)
    try:
        (folder / "resolv.conf").write_text(f"nameserver {address}\noptions timeout:3 attempts:2\n")
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale() -> None:
    """Remove what a killed run left: a folder without its namespace."""
    if not _RESOLVER_FILES.exists():
        return
    for folder in _RESOLVER_FILES.iterdir():
        if namespaces.is_ours(folder.name) and not namespaces.exists(folder.name):
            shutil.rmtree(folder, ignore_errors=True)

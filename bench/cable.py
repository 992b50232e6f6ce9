"""Two network namespaces joined by a veth pair, for the benches that need a path without a network."""

from collections.abc import Iterator
from contextlib import contextmanager

from vmtrace.lab import namespaces

INTERFACE = "veth0"


@contextmanager
def joined(addresses: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """The names of both namespaces, whose interface `INTERFACE` has these IPv4 addresses; gone after the block."""
    serial = addresses[0].rsplit(".", 1)[0].replace(".", "")
    names = (namespaces.namespace_name(f"near{serial}", 1), namespaces.namespace_name(f"far{serial}", 1))
    try:
        for name in names:
            namespaces.create(name)
        ends = ["type", "veth", "peer", "name", INTERFACE, "netns", names[1]]
        namespaces.run_program(["ip", "-n", names[0], "link", "add", INTERFACE, *ends])
        for name, address in zip(names, addresses, strict=True):
            namespaces.set_sysctls(name, {"net.ipv6.conf.all.disable_ipv6": "1"})
            namespaces.run_program(["ip", "-n", name, "address", "add", f"{address}/24", "dev", INTERFACE])
            namespaces.run_program(["ip", "-n", name, "link", "set", INTERFACE, "up"])
        yield names
    finally:
        for name in names:
            namespaces.delete(name)

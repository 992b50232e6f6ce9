"""The kernel's TCP counters, all of them, by their own names: Tcp of /proc/net/snmp, TcpExt of /proc/net/netstat."""

from __future__ import annotations

from vmtrace.capture.counters.source import Reading, Source, TextFile, Where, numbers

# Group in the file, and what its columns begin with.
PREFIXES = {"Tcp": "tcp_", "TcpExt": "tcpext_"}


def parse(text: str) -> Reading:
    """The columns of either file: a line of names, then one of values, for each group."""
    found: Reading = {}
    names: dict[str, list[str]] = {}
    for line in text.splitlines():
        group, separator, rest = line.partition(": ")
        if group not in PREFIXES or not separator:
            continue
        if group not in names:
            names[group] = rest.split()
            continue
        values = numbers(rest.split())
        if values is not None and all(name.isidentifier() and name.isascii() for name in names[group]):
            found.update({PREFIXES[group] + name: value for name, value in zip(names[group], values)})
    return found


class Tcp(Source):
    """The counters of the network namespace of the thread that made this."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._files = [TextFile(where.root / "proc/thread-self/net" / name) for name in ("snmp", "netstat")]

    def read(self) -> Reading:
        """Events since the namespace was made."""
        found: Reading = {}
        for file in self._files:
            found.update(parse(file.text()))
        return found

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files:
            file.close()


SOURCE = Tcp

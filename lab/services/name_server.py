"""An authoritative name server for the emulated path: SDKs find the stand-ins by names like the clouds' own.

`started` runs it in a namespace; `python -m vmtrace.lab.services.name_server SETTINGS` is that process. Names of a zone
have one or more addresses, handed out in turn. A name that does not exist is answered NXDOMAIN, at once.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab.services import process

PORT = 53
_PROBE_S = 1.0


@dataclass(frozen=True, slots=True)
class Zone:
    """Host names with their IPv4 addresses, and how long an answer may be kept."""

    addresses: Mapping[str, Sequence[str]]
    ttl_s: int = 60


@contextmanager
def started(zone: Zone, address: str, namespace: str) -> Iterator[None]:
    """Answer for the zone on port 53 of an address of the namespace while the block lasts."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-names-") as name:
        folder = Path(name)
        settings_path = folder / "settings.json"
        settings_path.write_text(json.dumps({"address": address, "zone": asdict(zone)}))

        def ready() -> bool:
            return _answers(address, namespace, next(iter(zone.addresses)))

        words = [sys.executable, "-m", "vmtrace.lab.services.name_server", str(settings_path)]
        command = process.Command("the name server", words, {}, folder / "names.log", ready)
        with process.serving(command, namespace):
            yield


def _answers(address: str, namespace: str, name: str) -> bool:
    import dnslib

    with process.inside(namespace):
        probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.sendto(dnslib.DNSRecord.question(name).pack(), (address, PORT))
            return bool(dnslib.DNSRecord.parse(probe.recv(4096)).rr)
        except OSError:
            return False


def _resolver(zone: Zone) -> Any:
    from dnslib import QTYPE, RCODE, RR, A
    from dnslib.server import BaseResolver

    turns = dict.fromkeys(zone.addresses, 0)

    class InTurn(BaseResolver):  # type: ignore[misc]
        def resolve(self, request: Any, _handler: Any) -> Any:
            answer = request.reply(ra=0)
            name = str(request.q.qname).rstrip(".").lower()
            pool = zone.addresses.get(name)
            if pool is None:
                answer.header.rcode = RCODE.NXDOMAIN
            elif request.q.qtype == QTYPE.A:  # for AAAA: no error and no address
                first = turns[name] % len(pool)
                turns[name] += 1
                for address in (*pool[first:], *pool[:first]):
                    answer.add_answer(RR(request.q.qname, QTYPE.A, rdata=A(address), ttl=zone.ttl_s))
            return answer

    return InTurn()


def main() -> int:
    """`python -m vmtrace.lab.services.name_server SETTINGS`: answer until a signal ends the process."""
    from dnslib.server import DNSLogger, DNSServer

    settings = json.loads(Path(sys.argv[1]).read_text())
    resolver, quiet = _resolver(Zone(**settings["zone"])), DNSLogger("-request,-reply,-truncated,-data", False)
    for over_tcp in (False, True):
        DNSServer(resolver, settings["address"], PORT, tcp=over_tcp, logger=quiet).start_thread()
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())

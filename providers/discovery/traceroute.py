"""Routers on the way to front ends, by scamper or, where that is not installed, mtr: both print JSON.

Their output is data from outside: what cannot be understood is left out and counted.
"""

import ipaddress
import json
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vmtrace.providers.discovery.side_by_side import side_by_side

ICMP, TCP = "icmp", "tcp"
METHODS = (ICMP, TCP)
MOST_HOPS = 32
_MTR_AT_ONCE = 8
_SCAMPER_PACKETS_PER_S = 200
_SCAMPER_WINDOW = 60
_WAIT_S = 2
_GIVE_UP_AFTER_SILENT_HOPS = 5
_LONGEST_RUN_S = 1800.0
_LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Hop:
    """A router's reply; `rtt_s` the least of it."""

    ttl: int
    address: str
    rtt_s: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The way to one address; routers that stay silent are not in it."""

    address: str
    method: str
    tool: str
    reached: bool
    hops: tuple[Hop, ...]

    def as_record(self) -> dict[str, Any]:
        """For a line of `traces.jsonl`."""
        return asdict(self)


class TracerouteError(RuntimeError):
    """No traces; the message says why, in one line."""


def tool() -> str:
    """The one to use; raises `TracerouteError` where none is installed."""
    for name in ("scamper", "mtr"):
        if shutil.which(name) is not None:
            return name
    raise TracerouteError("neither scamper nor mtr is installed: no traceroutes (apt-get install scamper)")


def traces(addresses: Sequence[str], method: str, port: int, ended: threading.Event) -> list[Trace]:
    """The ways to all addresses. Raises `TracerouteError`."""
    if not addresses:
        return []
    name = tool()
    return _by_scamper(addresses, method, port, ended) if name == "scamper" else _by_mtr(addresses, method, port, ended)


def _by_scamper(addresses: Sequence[str], method: str, port: int, ended: threading.Event) -> list[Trace]:
    probe = "icmp-paris" if method == ICMP else f"tcp -d {port}"
    command = f"trace -P {probe} -q 1 -w {_WAIT_S} -g {_GIVE_UP_AFTER_SILENT_HOPS} -m {MOST_HOPS}"
    words = ["scamper", "-O", "json", "-p", str(_SCAMPER_PACKETS_PER_S), "-w", str(_SCAMPER_WINDOW), "-c", command]
    output = _output([*words, "-f", "-"], "\n".join(addresses) + "\n", ended)
    return list(parse_scamper(output, method))


def _by_mtr(addresses: Sequence[str], method: str, port: int, ended: threading.Event) -> list[Trace]:
    kind = [] if method == ICMP else ["-T", "-P", str(port)]
    words = ["mtr", "--json", "-n", "-c", "2", "-m", str(MOST_HOPS), *kind]

    def one(address: str) -> list[Trace]:
        try:
            return list(parse_mtr(_output([*words, address], "", ended), address, method))
        except TracerouteError:
            return []

    return [trace for found in side_by_side(one, addresses, _MTR_AT_ONCE, ended) for trace in found]


def _output(words: Sequence[str], given: str, ended: threading.Event) -> str:
    """What the tool prints; it is ended with the run. Raises `TracerouteError` with its last words."""
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    try:
        out, said = _communicated(process, given, ended)
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0 and not out:
        last = (said.strip().splitlines() or ["it said nothing"])[-1][:200]
        raise TracerouteError(f"{words[0]} ended with status {process.returncode}: {last}")
    return out


def _communicated(process: "subprocess.Popen[str]", given: str, ended: threading.Event) -> tuple[str, str]:
    waited_s = 0.0
    while True:
        try:
            return process.communicate(given if waited_s == 0 else None, _LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            waited_s += _LOOK_EVERY_S
            if ended.is_set() or waited_s > _LONGEST_RUN_S:
                process.kill()


def parse_scamper(output: str, method: str) -> Iterator[Trace]:
    """Traces of scamper's JSON lines; other lines, and those that are damaged, are left out."""
    for line in output.splitlines():
        record = _parsed(line)
        if not isinstance(record, dict) or record.get("type") != "trace":
            continue
        address = _address(record.get("dst"))
        if address is None:
            continue
        hops = _hops((one.get("probe_ttl"), one.get("addr"), one.get("rtt")) for one in _dicts(record.get("hops")))
        yield _trace(address, method, "scamper", hops)


def parse_mtr(output: str, address: str, method: str) -> Iterator[Trace]:
    """The trace of mtr's report."""
    record = _parsed(output)
    report = record.get("report") if isinstance(record, dict) else None
    hubs = _dicts(report.get("hubs")) if isinstance(report, dict) else []
    if hubs:
        yield _trace(
            address, method, "mtr", _hops((one.get("count"), one.get("host"), one.get("Best")) for one in hubs)
        )


def _trace(address: str, method: str, name: str, hops: tuple[Hop, ...]) -> Trace:
    reached = bool(hops) and hops[-1].address == address
    return Trace(address, method, name, reached, tuple(one for one in hops if one.address != address))


def _hops(found: Iterable[tuple[object, object, object]]) -> tuple[Hop, ...]:
    hops: dict[tuple[int, str], Hop] = {}
    for ttl, host, rtt_ms in found:
        address = _address(host)
        if address is None or not isinstance(ttl, int) or not isinstance(rtt_ms, int | float) or not 0 <= rtt_ms < 6e4:
            continue
        known = hops.get((ttl, address))
        if known is None or rtt_ms / 1e3 < known.rtt_s:
            hops[ttl, address] = Hop(ttl, address, rtt_ms / 1e3)
    return tuple(sorted(hops.values(), key=lambda hop: hop.ttl))[: 2 * MOST_HOPS]


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _dicts(found: object) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _address(text: object) -> str | None:
    try:
        return str(ipaddress.ip_address(text)) if isinstance(text, str) else None
    except ValueError:
        return None

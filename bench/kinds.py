"""The kinds of captures whose analysis has a budget, each in two sizes: bench/budget.tsv says what they may cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench import captures, rewritten, talks
from bench.rewritten import Frame

BUDGET = Path(__file__).with_name("budget.tsv")
_ROOT = Path(__file__).parents[1]
# Packets of the smaller capture of most kinds; the larger has twice as many.
_PACKETS = 20_000
_BULK = ("--flows", "8")
_POLICED = ("--flows", "1", "--rtt-ms", "213", "--policer-kbps", "8000", "--client", "6")
_SEVERAL = {"--packets": _PACKETS}
# Kinds that bench_generate makes: kind of simulation, options that grow with the size, other options.
_GENERATED: dict[str, tuple[str, dict[str, int], tuple[str, ...]]] = {
    "few": ("bulk", _SEVERAL, _BULK),
    "short": ("short", {"--connections": 1_500}, ()),
    "many": ("bulk", {"--packets": 2 * _PACKETS, "--flows": 500}, ()),
    "loss": ("bulk", _SEVERAL, (*_BULK, "--loss", "0.05")),
    "reordering": ("bulk", _SEVERAL, (*_BULK, "--reordering", "0.02")),
    "no-sack": ("bulk", _SEVERAL, (*_BULK, "--sack", "false", "--loss", "0.005")),
    "no-timestamps": ("bulk", _SEVERAL, (*_BULK, "--timestamps", "false")),
    "small-segments": ("bulk", _SEVERAL, (*_BULK, "--segment-bytes", "100")),
    "pcapng": ("bulk", _SEVERAL, (*_BULK, "--format", "pcapng")),
    "policed": ("bulk", _SEVERAL, _POLICED),
}
# What two of the kinds below are made of.
_LONG = (*_BULK, "--rtt-ms", "300")
_SAME_SECONDS = [("bulk", _SEVERAL, _LONG), ("bulk", _SEVERAL, (*_LONG, "--client", "7"))]
# The packets of `appended` in order of time: no kind of its own, but what that is compared with.
IN_ORDER = "in-order"
_TOGETHER = {
    "appended": _SAME_SECONDS,
    IN_ORDER: _SAME_SECONDS,
    "policed-among": [_GENERATED["few"], _GENERATED["policed"]],
}
# Kinds made of those.
_MADE = ("vlan-gre", "ipv6", "two-points", "appended", "policed-among", "tls", "http", "both-ways")
NAMES = (*_GENERATED, *_MADE)


@dataclass(frozen=True, slots=True)
class Cut:
    """A capture of a kind in one of its sizes."""

    path: Path
    packets: int
    connections: int


def cut(name: str, times: int, generator: Path, folder: Path) -> Cut:
    """The capture of a kind, `times` its smaller size."""
    if name in _GENERATED:
        return _generated(name, _GENERATED[name], times, generator, folder)
    parts = [
        _generated(f"{name}-of-{number}", how, times, generator, folder)
        for number, how in enumerate(_TOGETHER.get(name, [_GENERATED["few"]]))
    ]
    link_type, connections = 1, sum(part.connections for part in parts)
    frames, *others = (rewritten.read(part.path)[1] for part in parts)
    made: Iterable[Frame]
    if name == "vlan-gre":
        made = rewritten.in_vlan_and_gre(frames)
    elif name == "ipv6":
        made = rewritten.as_ipv6(frames)
    elif name == "two-points":
        made = rewritten.of_two_points(frames, way_us=4_000, clock_us=250_000)
    elif name in _TOGETHER:
        together = rewritten.appended if name == "appended" else rewritten.in_order
        made = together([frames, *others])
    elif name == "tls":
        link_type, frames = rewritten.read(_ROOT / "samples/tls13.pcap")
        connections = 200 * times
        made = rewritten.repeated(frames, connections)
    elif name == "http":
        made = talks.http(connections, 350 * times)
    else:
        made = talks.both_ways(connections, 300 * times)
    path = folder / f"{name}-{times}.pcap"
    return Cut(path, rewritten.write(path, made, link_type), connections)


def _generated(
    name: str, how: tuple[str, dict[str, int], tuple[str, ...]], times: int, generator: Path, folder: Path
) -> Cut:
    kind, growing, others = how
    sizes = [word for option, size in growing.items() for word in (option, str(size * times))]
    suffix = "pcapng" if "pcapng" in others else "pcap"
    arguments = (*sizes, *others)
    recipe = captures.Recipe(f"{name}-{times}", name, kind, arguments, arguments, suffix=suffix)
    capture = captures.make(recipe, generator, folder, quick=False)
    return Cut(capture.path, capture.packets, capture.connections)

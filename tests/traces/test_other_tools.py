"""Collected captures: what vmtrace says beside tshark and tcptrace.

Numbers that those tools get right must be equal, connection by connection. Where they differ, `DIFFERENT` has both
numbers and the reason; docs/accuracy.md tells the same to readers.
"""

import gzip
import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze._engine import TraceError
from vmtrace.analyze.trace import read
from vmtrace.lab.accuracy import readings

FILES = [
    "PcapPlusPlus__clusterfuzz-5755755617189888.pcap",
    "PcapPlusPlus__nanosecs_big_endian.pcap",
    "PcapPlusPlus__one_tcp_stream_max_seq.pcap",
    "PcapPlusPlus__pcapng-example.pcapng",
    "PcapPlusPlus__sll.pcap",
    "PcapPlusPlus__tls2.pcap",
    "SharkFestTraces__SF20_trace2.pcapng",
    "arkime__80211http.pcap",
    "arkime__empty.pcap",
    "l4s-tests__cubic_fq_codel_wifi.pcap.gz",
    "mercury__geneve.pcap",
    "mlab-etl__ndt-4c6fb_121C1A0.pcap.gz",
    "mlab-packet-headers__v6-truncated.pcap",
    "nDPI__alexa-app.pcapng",
    "nDPI__chrome.pcap",
    "nDPI__fuzz-2006-09-29-28586.pcap",
    "nDPI__http_connect.pcap",
    "nDPI__ocs.pcap",
    "nDPI__sites.pcapng",
    "nDPI__synscan.pcap",
    "nDPI__tls_multiple_synack_s3.pcapng",
    "nDPI__vxlan.pcap",
    "pcapng-test-generator__be_test102.pcapng",
    "pcapng-test-generator__le_test202.pcapng",
    "pymptcpanalyzer__client_1_tcp_only_clean.pcap",
    "pymptcpanalyzer__iperf-mptcp-0-0.pcap",
    "pymptcpanalyzer__server_1_tcp_only_clean.pcap",
    "s3-filesystem__s3.pcap",
    "suricata-verify__bug-4376-syn-retransmit.pcap",
    "suricata-verify__decode-sll2-02.pcap",
    "suricata-verify__http-body-hook-01.pcap",
    "suricata-verify__http-mime-truncated.pcap",
    "suricata-verify__http-range-multiflows.pcap",
    "suricata-verify__tcp-fastopen-10.pcap",
    "tcpreplay__test.rewrite_dlthdlc.pcap",
    "tcptrace__dsack.dmp.gz",
    "tcptrace__fast_reuse.dmp.gz",
    "tcptrace__hardware_dups.dmp.gz",
    "tcptrace__sack_nasa_sim.dump.gz",
    "tcptrace__zwnd.dmp.gz",
    "zeek__206_example_a.pcap",
    "zeek__gre-aruba.pcap",
    "zeek__kerberos_tso.pcapng",
    "zeek__llc-fddi.pcap",
    "zeek__nvt-line-limit.pcap.gz",
    "zeek__pppoe-over-qinq.pcap",
    "zeek__tls-fragmented-handshake.pcap.gz",
    "zeek__tls-hrr.pcap",
]

# File, number: vmtrace's, the other tool's (... is anything else), why. Numbers without an entry must be equal.
DIFFERENT: dict[tuple[str, str], tuple[object, object, str]] = {}


def _differ(name: str, why: str, **numbers: tuple[object, object]) -> None:
    for number, (own, other) in numbers.items():
        key = {"round_trips": "handshake round trips, us"}.get(number, number.replace("_", " "))
        DIFFERENT[name, key] = (own, other, why)


_differ(
    "PcapPlusPlus__clusterfuzz-5755755617189888.pcap",
    "a fuzzed record of 16 MB whose TCP length is 2^31: refused, not counted",
    connections=(0, 1), packets=(0, 1), packets_per_connection=([], [1]),
    payload_bytes=(0, 2147483607), payload_bytes_per_connection=([], [2147483607]),
)  # fmt: skip
_differ(
    "PcapPlusPlus__pcapng-example.pcapng",
    "packets of one interface carry no time: no round trip; tcptrace skips the other link type",
    round_trips=(..., ...), unique_bytes=(46679, 4317),
)  # fmt: skip
_differ("PcapPlusPlus__tls2.pcap", "no ACK in the file: tcptrace calls one repeat out of order", repeats=(17, 16))
_differ(
    "SharkFestTraces__SF20_trace2.pcapng",
    "eight late segments carry newer timestamps than what came before them: retransmissions, not out of order",
    repeats=(164, 156),
)
_differ(
    "arkime__80211http.pcap",
    "one acknowledgement was heard twice over the air (same IP-ID); tcptrace cannot read radiotap",
    packets=(25, 26), packets_per_connection=([25], [26]), unique_bytes=(8028, 0), repeats=(1, 0),
)  # fmt: skip
_differ(
    "mercury__geneve.pcap",
    "the clock ticks every 10 ms, so SYN to ACK is 0; tshark skips zero; tcptrace does not look into Geneve",
    round_trips=(..., ...),
    unique_bytes=(246086, 160542),
)
_differ(
    "nDPI__alexa-app.pcapng",
    "SYNs were repeated without telling timestamps: which one was answered is not known, tshark guesses",
    round_trips=(..., ...),
)
_differ(
    "nDPI__fuzz-2006-09-29-28586.pcap",
    "fuzzed headers: packets whose lengths contradict one another are not counted, nor are those with numbers that no"
    " window allows, and no tool agrees with another",
    connections=(36, 38), packets=(110, 116), packets_per_connection=(..., ...), payload_bytes=(31265, 23178),
    payload_bytes_per_connection=(..., ...), round_trips=(..., ...), repeats=(2, 1),
)  # fmt: skip
_ONE_WAY = "no SYN-ACK in the file: only the client's half was captured; tshark takes SYN to the client's ACK"
_differ("nDPI__ocs.pcap", _ONE_WAY, round_trips=(..., ...))
_differ(
    "zeek__gre-aruba.pcap",
    _ONE_WAY + "; tcptrace does not look into GRE",
    round_trips=(..., ...),
    unique_bytes=(22049, 0),
)
_differ("nDPI__sites.pcapng", "tcptrace does not count a keep-alive without a byte", repeats=(10, 9))
_differ("nDPI__synscan.pcap", "a reset by the scanner is no handshake", round_trips=(..., ...))
_differ(
    "nDPI__tls_multiple_synack_s3.pcapng",
    "SYN-ACKs with other sequence numbers are one connection's repeats; tcptrace splits it",
    unique_bytes=(5944, 5945), repeats=(3, 1),
)  # fmt: skip
_TUNNEL = "tcptrace cannot read this link type or tunnel"
_differ("nDPI__vxlan.pcap", _TUNNEL, unique_bytes=(69876, 0))
_differ("suricata-verify__decode-sll2-02.pcap", _TUNNEL, unique_bytes=(2598957, 0))
_differ("zeek__nvt-line-limit.pcap.gz", _TUNNEL, unique_bytes=(16777118, 0))
_differ(
    "zeek__kerberos_tso.pcapng", "tcptrace drops seven packets with segmentation offload", unique_bytes=(57461, 42241)
)
_FILLS = "retransmissions by their timestamps; tcptrace calls what fills a hole out of order"
_differ("pymptcpanalyzer__client_1_tcp_only_clean.pcap", _FILLS, repeats=(43, 22))
_differ("pymptcpanalyzer__server_1_tcp_only_clean.pcap", _FILLS, repeats=(43, 5))
_differ("suricata-verify__http-body-hook-01.pcap", _FILLS, repeats=(3, 0))
_differ(
    "pymptcpanalyzer__iperf-mptcp-0-0.pcap",
    "the file has 2560 packets of which 6 are ICMPv6; tcptrace counts 2556 TCP packets, one a repeat",
    repeats=(4, 5),
)
_PROBES = "one-byte window probes, which tcptrace counts apart"
_differ("suricata-verify__http-mime-truncated.pcap", _PROBES, repeats=(5, 0))
_differ("tcptrace__zwnd.dmp.gz", _PROBES + "; the clock ticks every 10 ms", repeats=(7, 0), round_trips=([0], [10000]))
_differ(
    "suricata-verify__http-range-multiflows.pcap",
    "twelve packets follow their equals by 20 us, equal in every bit and without IP-ID: taken for captured twice",
    packets=(602, 614), packets_per_connection=(..., ...), repeats=(28, 34),
)  # fmt: skip
_differ(
    "suricata-verify__tcp-fastopen-10.pcap",
    "one connection with data in repeated SYNs that the server did not take; tcptrace makes five of it",
    round_trips=([20160], [20058]), unique_bytes=(6907, 7942), repeats=(21, 13),
)  # fmt: skip
_differ(
    "tcptrace__fast_reuse.dmp.gz",
    "lengths follow from the IP header; tshark drops data of packets that were cut short",
    payload_bytes=(185816, 12584),
    payload_bytes_per_connection=(..., ...),
)
_differ(
    "tcptrace__hardware_dups.dmp.gz",
    "486 packets are in the file a second time, with the same IP-ID and a TTL of 63 instead of 64: no retransmission",
    packets=(972, 1458), packets_per_connection=([972], [1458]), payload_bytes=(584267, 1168534),
    payload_bytes_per_connection=([584267], [1168534]), repeats=(0, 485),
)  # fmt: skip
_differ("zeek__206_example_a.pcap", "the SYN was repeated (Karn's rule): no round trip", round_trips=(..., ...))
_differ(
    "zeek__pppoe-over-qinq.pcap",
    "an acknowledgement was captured twice within the same microsecond; tcptrace cannot read QinQ with PPPoE",
    packets=(85, 86), packets_per_connection=([85], [86]), unique_bytes=(16336, 0), repeats=(25, 0),
)  # fmt: skip

# Retransmitted data segments that are known from the packets themselves.
RETRANSMITTED = {
    "tcptrace__sack_nasa_sim.dump.gz": 7,
    "tcptrace__dsack.dmp.gz": 7,
    "mlab-etl__ndt-4c6fb_121C1A0.pcap.gz": 39,
    "l4s-tests__cubic_fq_codel_wifi.pcap.gz": 0,
    "zeek__206_example_a.pcap": 17,
    "tcptrace__hardware_dups.dmp.gz": 0,
    "suricata-verify__http-mime-truncated.pcap": 0,
    "SharkFestTraces__SF20_trace2.pcapng": 164,
    "suricata-verify__bug-4376-syn-retransmit.pcap": 18,
    # Frames 59 and 68 come 3 ms after what they repeat, each in its place of a burst of repeats; both arrived twice.
    "zeek__pppoe-over-qinq.pcap": 25,
    "zeek__nvt-line-limit.pcap.gz": 0,
    "suricata-verify__decode-sll2-02.pcap": 0,
    "zeek__kerberos_tso.pcapng": 0,
}


@dataclass
class View:
    """One tool's numbers of a file."""

    packets: Counter[int] = field(default_factory=Counter)  # per connection, in order of first packet
    payload_bytes: Counter[int] = field(default_factory=Counter)
    unique_bytes: int = 0
    zero_windows: int = 0
    syn: int = 0
    repeats: int = 0  # data, SYN, FIN and probes
    round_trips_us: dict[int, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def numbers(self) -> dict[str, object]:
        return {
            "connections": len(self.packets),
            "packets": self.packets.total(),
            "packets per connection": sorted(self.packets.values()),
            "payload bytes": self.payload_bytes.total(),
            "payload bytes per connection": sorted(value for value in self.payload_bytes.values() if value),
            "zero windows": self.zero_windows,
        }


def plain(path: Path, folder: Path) -> Path:
    """The file without its gzip wrapper, for the tool that wants that."""
    if path.suffix != ".gz":
        return path
    out = folder / path.stem
    with gzip.open(path) as packed, out.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return out


@cache
def document(path: Path) -> dict[str, Any]:
    try:
        return read(path).json()
    except TraceError:
        return {"connections": []}


def ways(path: Path) -> list[dict[str, Any]]:
    return [
        connection[way]
        for connection in document(path)["connections"]
        for way in ("client_to_server", "server_to_client")
    ]


def of_vmtrace(path: Path) -> View:
    view = View()
    for number, connection in enumerate(document(path)["connections"]):
        for way in (connection["client_to_server"], connection["server_to_client"]):
            view.packets[number] += way["packets"]
            view.zero_windows += way["window"]["zero_windows"]
            if way["data_packets"] is None:  # nothing of it is in the capture
                continue
            view.payload_bytes[number] += way["payload_bytes"]
            view.unique_bytes += way["unique_payload_bytes"]
            causes = way["loss"]["by_trigger"]
            view.repeats += way["loss"]["retransmitted_segments"] + causes["syn"] + causes["fin"] + causes["probe"]
        if connection["handshake"]["rtt_s"] is not None:
            view.round_trips_us[number] = round(connection["handshake"]["rtt_s"] * 1e6)
        if connection["tls"] and connection["tls"]["sni"]:
            view.names.add(connection["tls"]["sni"])
    return view


_FIELDS = (
    "tcp.stream", "tcp.len", "tcp.analysis.zero_window", "tcp.analysis.initial_rtt",
    "tls.handshake.extensions_server_name",
)  # fmt: skip


@cache
def of_tshark(path: Path) -> View:
    view = View()
    for line in readings.tshark_lines(path, _FIELDS):
        if not line["tcp.stream"]:
            continue
        number = int(line["tcp.stream"])
        view.packets[number] += 1
        view.payload_bytes[number] += int(line["tcp.len"] or 0)
        view.zero_windows += bool(line["tcp.analysis.zero_window"])
        if line["tcp.analysis.initial_rtt"]:
            view.round_trips_us[number] = round(float(line["tcp.analysis.initial_rtt"]) * 1e6)
        if line["tls.handshake.extensions_server_name"]:
            view.names.add(line["tls.handshake.extensions_server_name"])
    return view


def of_tcptrace(path: Path) -> View:
    view = View()
    for number, row in enumerate(readings.tcptrace_rows(path)):
        for way in ("a2b", "b2a"):
            view.packets[number] += int(row[f"total_packets_{way}"])
            view.payload_bytes[number] += int(row[f"actual_data_bytes_{way}"])
            view.unique_bytes += int(row[f"unique_bytes_sent_{way}"])
            view.zero_windows += int(row[f"zero_win_adv_{way}"])
            view.repeats += int(row[f"rexmt_data_pkts_{way}"])
    return view


def differences(name: str, pairs: dict[str, tuple[object, object]]) -> dict[str, tuple[object, object]]:
    """What differs and is not explained, or no longer differs as explained."""
    return {number: pair for number, pair in pairs.items() if not _as_told(DIFFERENT.get((name, number)), *pair)}


def _as_told(told: tuple[object, object, str] | None, own: object, other: object) -> bool:
    if told is None:
        return own == other
    return own != other and all(
        known is ... or known == value for known, value in zip(told, (own, other), strict=False)
    )


@pytest.mark.parametrize("name", FILES)
def test_connections_packets_bytes_and_zero_windows_are_those_of_tshark(traces: Path, name: str) -> None:
    own, other = of_vmtrace(traces / name), of_tshark(traces / name)
    theirs = other.numbers()
    assert differences(name, {number: (value, theirs[number]) for number, value in own.numbers().items()}) == {}


@pytest.mark.parametrize("name", FILES)
def test_server_names_and_handshake_round_trips_are_those_of_tshark(traces: Path, name: str) -> None:
    own, other = of_vmtrace(traces / name), of_tshark(traces / name)
    pairs: dict[str, tuple[object, object]] = {
        "server names": (sorted(own.names), sorted(other.names)),
        "handshake round trips, us": (sorted(own.round_trips_us.values()), sorted(other.round_trips_us.values())),
    }
    assert differences(name, pairs) == {}


@pytest.mark.parametrize("name", FILES)
def test_unique_bytes_and_repeats_are_those_of_tcptrace(traces: Path, name: str, tmp_path: Path) -> None:
    own, other = of_vmtrace(traces / name), of_tcptrace(plain(traces / name, tmp_path))
    pairs: dict[str, tuple[object, object]] = {
        "unique bytes": (own.unique_bytes, other.unique_bytes),
        "repeats": (own.repeats, other.repeats),
    }
    assert differences(name, pairs) == {}


@pytest.mark.parametrize("name", RETRANSMITTED)
def test_retransmitted_segments_are_those_of_the_packets(traces: Path, name: str) -> None:
    assert sum(way["loss"]["retransmitted_segments"] for way in ways(traces / name)) == RETRANSMITTED[name]


def test_the_same_capture_with_a_duplicate_report_gives_the_same_numbers(traces: Path) -> None:
    one, two = (ways(traces / f"tcptrace__{name}.gz") for name in ("sack_nasa_sim.dump", "dsack.dmp"))
    for first, second in zip(one, two, strict=True):
        assert first["loss"]["network_duplicates"] + second["loss"]["network_duplicates"] <= 1
        recovery = [way["rtt"].pop("recovery", {"sack_samples": 0})["sack_samples"] for way in (first, second)]
        assert recovery[0] - recovery[1] == second["loss"]["network_duplicates"], "the edited one reports nothing new"
        assert [first[key] for key in ("packets", "payload_bytes", "rtt", "spacing", "window")] == [
            second[key] for key in ("packets", "payload_bytes", "rtt", "spacing", "window")
        ]
        assert first["loss"]["by_trigger"] == second["loss"]["by_trigger"]


def test_a_capture_of_acknowledgements_alone_reports_no_copies_by_the_network(traces: Path) -> None:
    for name in ("nDPI__ocs.pcap", "zeek__gre-aruba.pcap"):
        unseen = [way for way in ways(traces / name) if not way["data_packets"]]
        assert unseen
        assert {way["loss"]["network_duplicates"] for way in unseen} <= {0, None}


def test_the_document_reports_each_file_that_differs() -> None:
    text = (Path(__file__).parents[2] / "docs/accuracy.md").read_text()
    assert [name for name, _ in DIFFERENT if f"`{name}`" not in text] == []

"""What is not TCP, for people and in tables: flows and names, also of a capture that holds nothing else."""

import json
import struct
from pathlib import Path

import pyarrow.parquet as pq

from tests import golden_texts
from tests.analyze.conftest import Capture
from vmtrace.analyze.trace import Options, Trace, read
from vmtrace.analyze.words.beyond_tcp import lines, protocol_text

CLIENT, SERVER, RESOLVER = "198.18.0.1", "198.18.0.2", "198.18.0.53"


def udp(made: Capture, time_s: float, source: tuple[str, int], target: tuple[str, int], payload: bytes) -> None:
    datagram = struct.pack(">HHHH", source[1], target[1], 8 + len(payload), 0) + payload
    made.ipv4(time_s, source[0], target[0], 17, datagram)


def question(number: int) -> bytes:
    return struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + b"\3web\4test\0\0\1\0\1"


def answer(number: int) -> bytes:
    head = struct.pack(">HHHHHH", number, 0x8180, 1, 1, 0, 0) + b"\3web\4test\0\0\1\0\1"
    return head + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\2"


def capture(tmp_path: Path) -> Path:
    """A name that is asked for twice, and media of which every tenth datagram is missing."""
    made = Capture()
    udp(made, 0.0, (CLIENT, 40_000), (RESOLVER, 53), question(7))
    udp(made, 5.0, (CLIENT, 40_000), (RESOLVER, 53), question(7))
    udp(made, 5.008, (RESOLVER, 53), (CLIENT, 40_000), answer(7))
    for number in range(200):
        if number % 10 != 5:
            media = struct.pack(">BBHII", 0x80, 0, number, 160 * number, 99) + bytes(160)
            udp(made, 6 + number / 50, (CLIENT, 5004), (SERVER, 5006), media)
    path = tmp_path / "media.pcap"
    made.write(path)
    return path


def test_a_file_without_tcp_says_what_is_in_it(tmp_path: Path) -> None:
    header = read(capture(tmp_path)).header()
    assert protocol_text(header) == "udp: 183"
    text = "\n".join(lines(header))
    golden_texts.check("a-file-without-tcp-says-what-is-in-it", text)


def test_tables_hold_flows_and_names(tmp_path: Path) -> None:
    from vmtrace.analyze.tables import provenance
    from vmtrace.analyze.tables import write as tables

    trace = read(capture(tmp_path))
    tables.write_parquet(trace, tmp_path / "out", (), provenance.of(trace, anonymous=False))
    [flow] = [row for row in pq.read_table(tmp_path / "out/flows.parquet").to_pylist() if row["application"] == "rtp"]
    assert (flow["client_to_server_lost"], flow["client_to_server_sequence"]) == (20, "rtp_sequence_number")
    assert flow["client_to_server_jitter_s"] < 1e-6
    [lookup] = pq.read_table(tmp_path / "out/lookups.parquet").to_pylist()
    assert (lookup["name"], lookup["tries"], lookup["answers"]) == ("web.test", 2, "198.18.0.2")
    assert round(lookup["waited_s"], 6) == 5.008


def test_tables_of_no_capture_have_their_columns() -> None:
    empty = Trace.__len__(read())
    assert empty == 0
    assert {"waited_s", "answers"} <= set(read().lookup_table.column_names)
    assert {"client_to_server_lost", "rate_limit_rate_per_s"} <= set(read().flow_table.column_names)


def test_what_is_anonymous_names_no_host_and_no_name(tmp_path: Path) -> None:
    document = read(capture(tmp_path), options=Options(anonymize=True)).json()
    there = json.dumps({key: document[key] for key in ("lookups", "flows", "neighbours", "lookup_totals")})
    assert "198.18.0.53" not in there
    assert "web.test" not in there
    assert document["lookups"][0]["name"].endswith(".invalid")
    assert document["flows"][0]["server"].endswith(":53")

"""Captures copied with comments, read back by a reader of the test's own and by tshark."""

import io
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.annotated.pcapng import AnnotateError, annotate
from vmtrace.analyze.reports.annotated.remarks import Remarks

PACKETS = (b"first packet", b"", b"the third", b"x" * 77)


def pcap(order: str = "<", magic: int = 0xA1B2C3D4, extra: int = 0, network: int = 101) -> bytes:
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, network)
    records = (
        struct.pack(f"{order}IIII", 10 + number, 5, len(data), len(data) + 9) + bytes(extra) + data
        for number, data in enumerate(PACKETS)
    )
    return head + b"".join(records)


def copied(content: bytes, remarks: Remarks | None = None, only: set[int] | None = None) -> bytes:
    sink = io.BytesIO()
    annotate(io.BytesIO(content), sink, remarks or Remarks("all of it"), only)
    return sink.getvalue()


def blocks(content: bytes, order: str = "<") -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(content):
        kind, length = struct.unpack_from(f"{order}II", content, place)
        assert struct.unpack_from(f"{order}I", content, place + length - 4)[0] == length
        yield kind, content[place + 8 : place + length - 4]
        place += length


def packets(content: bytes, order: str = "<") -> list[tuple[int, bytes, list[str]]]:
    """Time in units of the interface, data, comments."""
    found = []
    for kind, body in blocks(content, order):
        if kind != 6:
            continue
        _, high, low, kept, _ = struct.unpack_from(f"{order}IIIII", body)
        options, texts = body[20 + -(-kept // 4) * 4 :], []
        while len(options) >= 4:
            code, length = struct.unpack_from(f"{order}HH", options)
            if code == 1:
                texts.append(options[4 : 4 + length].decode())
            options = options[4 + -(-length // 4) * 4 :]
        assert not options
        found.append(((high << 32) + low, body[20 : 20 + kept], texts))
    return found


@pytest.mark.parametrize(
    ("order", "magic", "extra", "scale"),
    [
        ("<", 0xA1B2C3D4, 0, 10**6),
        (">", 0xA1B2C3D4, 0, 10**6),
        ("<", 0xA1B23C4D, 0, 10**9),
        (">", 0xA1B2CD34, 8, 10**6),
    ],
    ids=["little", "big", "nanoseconds", "modified"],
)
def test_packets_and_times_of_classic_pcap_stay_as_they_are(order: str, magic: int, extra: int, scale: int) -> None:
    remarks = Remarks("all of it")
    remarks.add(3, "one")
    remarks.add(3, "other")
    remarks.add(3, "one")
    found = packets(copied(pcap(order, magic, extra), remarks), order)
    assert [data for _, data, _ in found] == list(PACKETS)
    assert [time for time, *_ in found] == [(10 + number) * scale + 5 for number in range(4)]
    assert [texts for *_, texts in found] == [[], [], ["one", "other"], []]


def test_pcapng_is_copied_block_by_block_with_what_it_said_before() -> None:
    once = Remarks("before")
    once.add(1, "by somebody")
    again = Remarks("after")
    again.add(1, "by us")
    found = copied(copied(pcap(), once), again)
    assert packets(found)[0][2] == ["by us", "by somebody"]
    (section,) = (body for kind, body in blocks(found) if kind == 0x0A0D0D0A)
    assert section.index(b"after") < section.index(b"before")
    assert struct.unpack_from("<q", section, 8) == (-1,)
    assert copied(found, Remarks("")) != found
    assert packets(copied(found)) == packets(found)


def test_packets_can_be_chosen_and_the_others_are_left_out() -> None:
    for content in (pcap(), copied(pcap())):
        assert [data for _, data, _ in packets(copied(content, only={1, 4}))] == [PACKETS[0], PACKETS[3]]


def test_a_check_sequence_behind_frames_is_told_of_the_interface() -> None:
    found = copied(pcap(network=1 | 0x0400_0000 | 2 << 28))
    (interface,) = (body for kind, body in blocks(found) if kind == 1)
    assert struct.unpack_from("<H", interface) == (1,)
    assert struct.pack("<HHB", 13, 1, 4) in interface


@pytest.mark.parametrize("content", [b"", b"GIF89a" * 9, b"btsnoop\0" * 9, pcap()[:20]])
def test_what_cannot_be_copied_is_one_line(content: bytes) -> None:
    with pytest.raises(AnnotateError) as failed:
        copied(content)
    assert "\n" not in str(failed.value)


def test_what_is_torn_off_leaves_whole_packets() -> None:
    assert [data for _, data, _ in packets(copied(pcap()[:-1]))] == list(PACKETS[:-1])
    assert [data for _, data, _ in packets(copied(copied(pcap())[:-1]))] == list(PACKETS[:-1])


@given(st.binary(max_size=400), st.sampled_from([b"\xd4\xc3\xb2\xa1", b"\x0a\x0d\x0d\x0a", b""]))
def test_any_bytes_are_copied_or_refused(content: bytes, magic: bytes) -> None:
    try:
        copied(magic + content)
    except AnnotateError:
        return


def test_a_text_longer_than_a_comment_may_be_is_cut() -> None:
    remarks = Remarks("\u20ac" * 50_000)
    remarks.add(1, "\u20ac" * 50_000)
    ((_, _, [text]), *_) = packets(copied(pcap(), remarks))
    assert 60_000 < len(text.encode()) <= 65_000


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
def test_tshark_reads_comments_and_names_back(tmp_path: Path) -> None:
    remarks = Remarks("of the file", names={"192.0.2.7": ["www.example.test"], "fd00::7": ["six.example.test"]})
    remarks.add(2, "of the second")
    path = tmp_path / "a.pcapng"
    path.write_bytes(copied(pcap(), remarks))
    words = [
        "tshark",
        "-r",
        str(path),
        "-Y",
        "frame.comment",
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "frame.comment",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split("\t") == ["2", "of the second\n"]
    names = subprocess.run(["tshark", "-r", str(path), "-q", "-z", "hosts"], capture_output=True, text=True, check=True)
    assert "www.example.test" in names.stdout
    assert "six.example.test" in names.stdout

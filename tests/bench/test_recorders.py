"""All programs are told the same, and their last words are read right."""

from pathlib import Path

import pytest

from bench.recorders import DUMPCAP, RECORDERS, TCPDUMP, VMTRACE, Recorder, Settings

SETTINGS = Settings("veth0", 32, 96, "udp port 9")


@pytest.mark.parametrize("recorder", RECORDERS, ids=lambda recorder: recorder.name)
def test_interface_file_buffer_snap_length_and_filter_are_the_same_for_all(recorder: Recorder) -> None:
    words = " ".join(recorder.command(SETTINGS, Path("x.pcap")))
    for word in ("veth0", "x.pcap", "96", "udp port 9"):
        assert word in words
    assert any(buffer in words for buffer in ("-B 32768", "-B 32 ", "--buffer-bytes 32Mi"))


@pytest.mark.parametrize(
    ("recorder", "text"),
    [
        (VMTRACE, "vmtrace.pcap: 1,234 packets (1 kB kept)\nreceived 1,239, dropped by kernel 5, by interface 0"),
        (TCPDUMP, "1234 packets captured\n1239 packets received by filter\n5 packets dropped by kernel\n"),
        (
            DUMPCAP,
            "Packets captured: 1234\nPackets received/dropped on interface 'veth0': 1234/5 (pcap:5/dumpcap:0)",
        ),
    ],
    ids=["vmtrace", "tcpdump", "dumpcap"],
)
def test_the_counts_are_found_in_its_last_words(recorder: Recorder, text: str) -> None:
    written, dropped = recorder.written.search(text), recorder.dropped.search(text)
    assert written
    assert dropped
    assert (written[1].replace(",", ""), dropped[1]) == ("1234", "5")


def test_without_a_snap_length_vmtrace_keeps_what_it_keeps_by_default() -> None:
    assert "--snaplen" not in VMTRACE.command(Settings("veth0", 32, 0, ""), Path("x.pcap"))

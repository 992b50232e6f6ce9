"""Each program is called on the file it is given; one that is absent is known to be."""

from pathlib import Path

from bench import peers


def test_the_file_takes_its_place_in_the_command() -> None:
    assert peers.walk(Path("walk")).call(Path("a.pcap")) == ["walk", "a.pcap"]
    assert peers.vmtrace().call(Path("a.pcap"))[1:] == ["analyze", "a.pcap", "--json", "-"]
    assert peers.vmtrace(Path("o.json")).call(Path("a.pcap"))[1:] == ["analyze", "a.pcap", "--json", "o.json"]


def test_slow_peers_get_a_prefix_and_quick_ones_the_whole_file() -> None:
    slow = {peer.name for peer in peers.others(1000) if peer.prefix_packets == 1000}
    assert slow == {"dpkt loop", "tshark conv,tcp", "tshark two-pass ack_rtt"}


def test_a_program_that_is_not_there_is_known_to_be_absent() -> None:
    assert not peers.Peer("x", ("x",), needs="no-such-program-anywhere").installed
    assert peers.Peer("x", ("x",)).installed

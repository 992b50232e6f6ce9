import resource
import socket
from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.receiver.newcomer import Newcomer
from vmtrace.receiver.places import Places, network_of, open_files


def newcomer(host: str, deadline_s: float = 5.0, *, reserved: bool = False) -> Newcomer:
    return Newcomer(socket.socket.__new__(socket.socket), host, host, network_of(host), b"", deadline_s, reserved)


def test_a_network_is_a_24_of_ipv4_and_a_48_of_ipv6() -> None:
    assert network_of("192.0.2.1") == network_of("192.0.2.254") != network_of("192.0.3.1")
    assert network_of("fd00:0:1::1") == network_of("fd00:0:1:ffff::9") != network_of("fd00:0:2::1")
    assert network_of("0.0.0.1") != network_of("::1")


def test_the_oldest_of_the_most_crowded_network_gives_way() -> None:
    places = Places(4)
    for descriptor, host in enumerate(("198.18.0.1", "192.0.2.1", "192.0.2.2", "198.18.1.1")):
        assert not places.is_full
        places.take(descriptor, newcomer(host))
    assert places.is_full
    assert places.gives_way() == 1
    assert places.leave(1).host == "192.0.2.1"
    assert places.gives_way() == 0  # all alike: the first


def test_a_reserved_place_never_gives_way() -> None:
    places = Places(2)
    places.take(7, newcomer("192.0.2.1", reserved=True))
    places.take(8, newcomer("192.0.2.1", reserved=True))
    assert places.gives_way() is None
    places.take(9, newcomer("198.18.0.1"))
    assert places.gives_way() == 9


def test_the_late_are_found_in_order() -> None:
    places = Places(9)
    places.take(1, newcomer("192.0.2.1", 1.0))
    places.take(2, newcomer("192.0.2.1", 2.0, reserved=True))
    assert places.late(0.9) is None
    assert places.late(2.5) == 1
    places.leave(1)
    assert places.late(2.5) == 2


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.booleans()), max_size=60))
def test_who_gives_way_is_whom_a_plain_count_finds(steps: list[tuple[int, bool, bool]]) -> None:
    places, plain = Places(1000), OrderedDict[int, Newcomer]()
    for descriptor, (network, reserved, leaves) in enumerate(steps):
        if leaves and plain:
            gone = next(iter(plain))
            places.leave(gone)
            del plain[gone]
        else:
            plain[descriptor] = newcomer(f"198.18.{network}.1", reserved=reserved)
            places.take(descriptor, plain[descriptor])
        crowd = [one.network for one in plain.values() if not one.reserved]
        found = places.gives_way()
        assert len(places) == len(plain) == len(places.all())
        assert (found is None) == (not crowd)
        if found is not None:
            one = plain[found]
            assert crowd.count(one.network) == max(map(crowd.count, crowd))
            assert found == min(
                number for number, other in plain.items() if not other.reserved and other.network == one.network
            )


def test_open_files_are_raised_to_what_is_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 512), hard))
        assert open_files() == min(hard, 512)
        assert open_files(as_many_as_allowed=True) == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

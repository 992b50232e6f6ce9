"""Lookups of listening threads have addresses and TTL; all others go to the C library as ever."""

import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from vmtrace.providers.resolver import Resolver


class Dns:
    """Replies like dnspython."""

    def __init__(self, replies: dict[str, tuple[list[str], int]]) -> None:
        self.replies = replies
        self.asked: list[tuple[str, str]] = []

    def resolve(self, host: str, kind: str, **_: Any) -> Any:
        from dns.resolver import NXDOMAIN

        self.asked.append((host, kind))
        if host not in self.replies:
            raise NXDOMAIN
        addresses, ttl_s = self.replies[host]
        if kind != "A":
            return SimpleNamespace(rrset=None)

        class Answer(list[str]):
            rrset = object()
            chaining_result = SimpleNamespace(minimum_ttl=ttl_s)

        return Answer(addresses)


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    made = Resolver()
    monkeypatch.setattr(made, "_dns", Dns({"s3.test": (["192.0.2.7", "192.0.2.8"], 5)}))
    return made


def test_a_lookup_has_the_addresses_and_the_ttl_of_the_reply(resolver: Resolver) -> None:
    with resolver:
        resolver.listen()
        found = socket.getaddrinfo("s3.test", 443, socket.AF_UNSPEC, socket.SOCK_STREAM)
        (lookup,) = resolver.collected()
    assert [one[4] for one in found] == [("192.0.2.7", 443), ("192.0.2.8", 443)]
    assert (lookup.name, lookup.addresses, lookup.ttl_s) == ("s3.test", ("192.0.2.7", "192.0.2.8"), 5)
    assert lookup.as_record()["addresses"] == ["192.0.2.7", "192.0.2.8"]


def test_literal_addresses_and_the_hosts_file_ask_no_name_server(resolver: Resolver) -> None:
    with resolver:
        resolver.listen()
        socket.getaddrinfo("127.0.0.1", 443, type=socket.SOCK_STREAM)
        socket.getaddrinfo("localhost", 443, type=socket.SOCK_STREAM)
        (lookup,) = resolver.collected()
    assert (lookup.name, lookup.ttl_s) == ("localhost", None)
    assert resolver._dns.asked == []


def test_other_threads_notice_nothing(resolver: Resolver) -> None:
    with resolver:
        resolver.listen()
        other = threading.Thread(target=socket.getaddrinfo, args=("localhost", 80))
        other.start()
        other.join()
        assert resolver.collected() == []


def test_the_c_library_is_in_its_place_again_afterwards(resolver: Resolver) -> None:
    before = socket.getaddrinfo
    with resolver:
        assert socket.getaddrinfo != before
    assert socket.getaddrinfo == before

"""A resolver on loopback that behaves as a test wants: a function from a question to a reply, or to raw bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dnslib import AAAA, CNAME, QTYPE, RCODE, RR, A, DNSRecord

from vmtrace.providers.discovery.resolvers import Resolver

Answer = Callable[[DNSRecord, bool], DNSRecord | bytes | None]
"""From a question, and whether it came over TCP; None stays silent."""


def given(*addresses: str, alias: str | None = None, ttl_s: int = 60) -> Answer:
    """Gives these addresses, each to questions for its family."""

    def answer(question: DNSRecord, _over_tcp: bool) -> DNSRecord:
        reply = question.reply()
        owner: Any = question.q.qname
        if alias is not None:
            reply.add_answer(RR(owner, QTYPE.CNAME, rdata=CNAME(alias), ttl=ttl_s))
            owner = alias
        for address in addresses:
            kind, data = (QTYPE.AAAA, AAAA) if ":" in address else (QTYPE.A, A)
            if kind == question.q.qtype:
                reply.add_answer(RR(owner, kind, rdata=data(address), ttl=ttl_s))
        return reply

    return answer


def code(name: str) -> Answer:
    """Gives a response code alone."""

    def answer(question: DNSRecord, _over_tcp: bool) -> DNSRecord:
        reply = question.reply()
        reply.header.rcode = getattr(RCODE, name)
        return reply

    return answer


@contextmanager
def serving(answer: Answer, address: str = "127.0.0.1") -> Iterator[Resolver]:
    """Answers over UDP and TCP while the block lasts."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    tcp = socket.create_server((address, 0), family=family)
    port = tcp.getsockname()[1]
    udp = socket.socket(family, socket.SOCK_DGRAM)
    udp.bind((address, port))
    for one in (tcp, udp):
        one.settimeout(0.1)
    ended = threading.Event()
    threads = [threading.Thread(target=_udp, args=(udp, answer, ended)),
               threading.Thread(target=_tcp, args=(tcp, answer, ended))]  # fmt: skip
    for thread in threads:
        thread.start()
    try:
        yield Resolver(address, port)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        udp.close()
        tcp.close()


def _packed(answer: Answer, data: bytes, over_tcp: bool) -> bytes | None:
    found = answer(DNSRecord.parse(data), over_tcp)
    return found.pack() if isinstance(found, DNSRecord) else found


def _udp(server: socket.socket, answer: Answer, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            data, peer = server.recvfrom(4096)
        except TimeoutError:
            continue
        packed = _packed(answer, data, over_tcp=False)
        if packed is not None:
            server.sendto(packed, peer)


def _tcp(server: socket.socket, answer: Answer, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            connection, _ = server.accept()
        except TimeoutError:
            continue
        with connection:
            connection.settimeout(5)
            data = connection.recv(4096)
            packed = _packed(answer, data[2:], over_tcp=True)
            if packed is not None:
                connection.sendall(len(packed).to_bytes(2, "big") + packed)

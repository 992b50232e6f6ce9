"""The far side's servers, one process: the resolvers (dnslib), reverse names, and TLS at every front end.

Resolvers answer by place: `global.lab.test` leads to the site nearest to the resolver that is asked.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vmtrace.lab.world import plan
from vmtrace.lab.world.geography import distance_km
from vmtrace.lab.world.plan import World

DNS_PORT, TLS_PORT = 53, 443
TTL_S = 60
PER_ANSWER = 3


class Answers:
    """What the resolvers know: the pool of each name, handed out in turn, three at a time."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pools = {
            world.name_of(site): [one.address for one in world.front_ends if one.site == site.region]
            for site in world.sites
        }
        self._turns = dict.fromkeys(self._pools, 0)

    def addresses(self, name: str, resolver: plan.Resolver) -> list[str] | None:
        """Those for one question; None: there is no such name."""
        if name == plan.STEERED:
            near = min(self._world.sites, key=lambda site: distance_km(site.place, resolver.place))
            return self._pools[self._world.name_of(near)][:2]
        if name == plan.IPV6_ONLY:
            return []
        pool = self._pools.get(name)
        if pool is None:
            return None
        first = self._turns[name] % len(pool)
        self._turns[name] += PER_ANSWER
        return [*pool[first:], *pool[:first]][:PER_ANSWER]


def resolver_for(answers: Answers, resolver: plan.Resolver) -> Any:
    """The dnslib resolver with this one's behaviour."""
    from dnslib import AAAA, CNAME, QTYPE, RCODE, RR, A, DNSQuestion
    from dnslib.server import BaseResolver

    lies = list(plan.lie_addresses())
    lie = lies[sum(map(int, resolver.address.split("."))) % len(lies)]

    class Behaving(BaseResolver):  # type: ignore[misc]
        def resolve(self, request: Any, handler: Any) -> Any:
            answer = request.reply(ra=1, aa=0)
            name, kind = str(request.q.qname).rstrip(".").lower(), request.q.qtype
            if resolver.behaviour == plan.REFUSES:
                answer.header.rcode = RCODE.REFUSED
                return answer
            if resolver.behaviour == plan.OTHER_QUESTION:
                answer.questions = [DNSQuestion("elsewhere.lab.test", kind)]
            if resolver.behaviour == plan.TRUNCATES and handler.protocol == "udp":
                answer.header.tc = 1
                return answer
            found = answers.addresses(name, resolver)
            if found is None:
                answer.header.rcode = RCODE.NXDOMAIN
                return answer
            if resolver.behaviour in {plan.LIES, plan.FLOODS} and found:
                found = [lie] if resolver.behaviour == plan.LIES else plan.flood()
            if kind == QTYPE.AAAA and name == plan.IPV6_ONLY:
                answer.add_answer(RR(request.q.qname, QTYPE.AAAA, rdata=AAAA(plan.IPV6_ADDRESS), ttl=TTL_S))
            if kind == QTYPE.A and found:
                edge = f"edge.{name}"
                answer.add_answer(RR(request.q.qname, QTYPE.CNAME, rdata=CNAME(edge), ttl=TTL_S))
                for address in found:
                    answer.add_answer(RR(edge, QTYPE.A, rdata=A(address), ttl=TTL_S))
            return answer

    return Behaving()


def reverse_resolver(names: Mapping[str, str]) -> Any:
    """Answers PTR questions."""
    from dnslib import PTR, QTYPE, RCODE, RR
    from dnslib.server import BaseResolver

    by_question = {ipaddress.ip_address(address).reverse_pointer: name for address, name in names.items()}

    class Reverse(BaseResolver):  # type: ignore[misc]
        def resolve(self, request: Any, _handler: Any) -> Any:
            answer = request.reply(ra=1, aa=0)
            name = by_question.get(str(request.q.qname).rstrip(".").lower())
            if name is None:
                answer.header.rcode = RCODE.NXDOMAIN
            elif request.q.qtype == QTYPE.PTR:
                answer.add_answer(RR(request.q.qname, QTYPE.PTR, rdata=PTR(name), ttl=TTL_S))
            return answer

    return Reverse()


def serve_names(world: World) -> None:
    """Start every resolver; those that hang take questions and never answer."""
    import socket

    from dnslib.server import DNSLogger, DNSServer

    quiet, answers = DNSLogger("-request,-reply,-truncated,-data,-error", False), Answers(world)
    served = {one.address: resolver_for(answers, one) for one in world.resolvers if one.behaviour != plan.HANGS}
    served[plan.REVERSE_SERVER] = reverse_resolver(world.reverse_names())
    for address, resolver in served.items():
        for over_tcp in (False, True):
            DNSServer(resolver, address, DNS_PORT, tcp=over_tcp, logger=quiet).start_thread()
    for one in world.resolvers:
        if one.behaviour == plan.HANGS:
            _HANGING.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            _HANGING[-1].bind((one.address, DNS_PORT))


_HANGING: list[Any] = []


async def serve_tls(addresses: Mapping[str, ssl.SSLContext]) -> None:
    """TLS at each address, until the process ends."""

    async def one(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    for address, context in addresses.items():
        await asyncio.start_server(one, address, TLS_PORT, ssl=context)
    print("ready", flush=True)
    await asyncio.Event().wait()


def contexts(world: World, certificates: Sequence[tuple[str, str]]) -> dict[str, ssl.SSLContext]:
    """The certificate of each address: the service's, and for what liars give one of another name."""
    made = []
    for chain, key in certificates:
        made.append(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        made[-1].load_cert_chain(chain, key)
    service, other = made
    found = {one.address: service for one in world.front_ends} | dict.fromkeys(world.landmarks, service)
    return found | {address: other for address, speaks in plan.lie_addresses().items() if speaks}


def main() -> int:
    """`python -m vmtrace.lab.world.servers SETTINGS`: serve until a signal ends the process."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    world = plan.draw(**settings["world"])
    serve_names(world)
    asyncio.run(serve_tls(contexts(world, settings["certificates"])))
    return 0


if __name__ == "__main__":
    sys.exit(main())

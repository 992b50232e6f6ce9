"""The rules, one file for each kind or family of kinds, in the order in which they run.

A rule is a function from `Facts` to findings. What needs several records comes first: it explains what each of them
would report alone (`Finding.explains`). One more kind is a file and a line here.
"""

from collections.abc import Callable, Iterator

from vmtrace.analyze.findings.facts import Facts
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.rules import (
    accept_queue,
    causes,
    checksums,
    datagrams,
    echoes,
    fragments,
    health_checks,
    http2,
    icmp_not_matched,
    incast,
    lookups,
    neighbours,
    outcomes,
    path_mtu,
    ports,
    queue_shared,
    quic,
    resets,
    shared_limits,
    tls_flight,
    tunnels,
    untranslated,
)

Rule = Callable[[Facts], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    accept_queue.find,
    ports.find,
    health_checks.find,
    icmp_not_matched.find,
    untranslated.find,
    path_mtu.find,
    fragments.find,
    resets.find,
    incast.find,
    tls_flight.find,
    http2.find,
    shared_limits.find,
    queue_shared.find,
    lookups.find,
    quic.find,
    datagrams.find,
    echoes.find,
    neighbours.find,
    tunnels.find,
    checksums.find,
    outcomes.find,
    causes.find,
)

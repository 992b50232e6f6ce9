"""Names: no reply, a late one, a refusal, a rate limit before the resolver, search suffixes tried in vain.

Rule: docs/findings.md, "Names".
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from vmtrace.analyze.findings.facts import Facts, Record, evidence
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.words.units import count, seconds, share
from vmtrace.formats.quantities import plural

_SLOW_S = 0.2
_JOINT_NS = 1_000_000_000
"""A and AAAA of a name that are asked within this time are one wait."""
_REFUSALS = ("REFUSED", "SERVFAIL", "NOTIMP", "FORMERR")


def find(facts: Facts) -> Iterator[Finding]:
    """One finding for each resolver and kind."""
    by_resolver: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(facts.lookups):
        by_resolver[one["resolver"]].append(number)
    limits = {one["resolver"]: one for one in facts.lookup_totals.get("rate_limits") or ()}
    for resolver, numbers in by_resolver.items():
        yield from _of_resolver(facts, resolver, numbers, limits.get(resolver))


def _of_resolver(facts: Facts, resolver: str, numbers: list[int], limit: Record | None) -> Iterator[Finding]:
    def some(wanted: Sequence[int]) -> list[Record]:
        return [facts.lookups[number] for number in wanted]

    def those(is_so: Callable[[Record], object], but: Iterable[int] = ()) -> list[int]:
        others = set(but)
        return [number for number in numbers if number not in others and is_so(facts.lookups[number])]

    fragments = those(lambda lookup: lookup.get("fragments_lost"))
    refused = those(_is_refused)
    silent = those(_got_no_reply, but=[*fragments, *refused])
    searched = those(lambda lookup: lookup.get("searched"))
    slow = those(_is_slow, but=[*silent, *fragments, *refused])
    names = {one["name"] for one in some(silent)}
    if limit is not None:
        yield _limited(facts, resolver, silent or numbers, limit)
    elif silent:
        name = f" for {next(iter(names))}" if len(names) == 1 else ""
        tries = sum(one["tries"] - (one["answered_ns"] is not None) for one in some(silent))
        text = f"{resolver} left {plural(tries, 'query', 'queries')}{name} unanswered: {{time}} of waiting for names."
        yield _finding(facts, "dns_unanswered", text, silent, 0.9)
    if fragments:
        text = f"Fragments of {plural(len(fragments), 'response')} of {resolver} were lost: {{time}} of waiting."
        yield _finding(facts, "dns_fragments_lost", text, fragments, 0.85)
    if refused:
        text = f"{resolver} refused {plural(len(refused), 'lookup')} by {_how(some(refused))}."
        yield _finding(facts, "dns_refused", text, refused, 0.9)
    if searched:
        tried = sum(len(one["searched"]) for one in some(searched))
        vain = plural(tried, "search suffix", "search suffixes")
        text = f"{vain} tried in vain before {plural(len(searched), 'name')}: {{time}}."
        yield _finding(facts, "dns_search_list", text, searched, 0.8, cost_s=_searched_s(some(searched)))
    if slow:
        text = f"{resolver} took {{time}} for {plural(len(slow), 'lookup')}."
        yield _finding(facts, "dns_slow", text, slow, 0.8)


def _got_no_reply(lookup: Record) -> bool:
    return lookup["answered_ns"] is None or lookup["tries"] > 1


def _is_refused(lookup: Record) -> bool:
    return lookup.get("rcode") in _REFUSALS or bool(lookup.get("icmp_errors"))


def _how(refused: Sequence[Record]) -> str:
    first = refused[0]
    return "ICMP" if first.get("icmp_errors") else str(first.get("rcode"))


def _is_slow(lookup: Record) -> bool:
    return lookup["answered_ns"] is not None and (lookup["waited_s"] or 0.0) >= _SLOW_S


def _waits_s(lookups: Sequence[Record]) -> float:
    """What was waited: the questions for one name that were asked together are one wait."""
    longest: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for one in sorted(lookups, key=lambda lookup: int(lookup["asked_ns"])):
        waits = longest.setdefault((one["client"].rpartition(":")[0] or one["client"], one["name"]), [])
        waited_s = one["waited_s"] or 0.0
        if waits and one["asked_ns"] - waits[-1][0] < _JOINT_NS:
            waits[-1] = (waits[-1][0], max(waits[-1][1], waited_s))
        else:
            waits.append((one["asked_ns"], waited_s))
    return sum(waited_s for waits in longest.values() for _, waited_s in waits)


def _searched_s(lookups: Sequence[Record]) -> float:
    return sum(one.get("searched_s") or 0.0 for one in lookups)


def _limited(facts: Facts, resolver: str, numbers: list[int], limit: Record) -> Finding:
    total, silent = limit["queries"], limit["unanswered"]
    text = (
        f"{resolver} answers {limit['rate_per_s']:.4g} queries per second at most: {count(silent)} of {count(total)} "
        f"({share(silent / max(1, total))}) got no reply."
    )
    return _finding(facts, "dns_rate_limited", text, numbers, limit["confidence"])


def _finding(
    facts: Facts, kind: str, text: str, numbers: list[int], confidence: float, cost_s: float | None = None
) -> Finding:
    lookups = [facts.lookups[number] for number in numbers]
    waited_s = _waits_s(lookups) if cost_s is None else cost_s
    frames = [frame for one in lookups[:20] for frame in (one.get("frames") or ())[:2]]
    return Finding(
        kind=kind,
        # Names come from the capture: whatever braces they hold, they are no format.
        sentence=text.replace("{time}", seconds(waited_s)),
        confidence=confidence,
        cost_s=waited_s or None,
        waited_s=_waits_s(lookups),
        lookups=numbers,
        connections=sorted({number for one in lookups for number in one.get("connections") or ()}),
        evidence=[evidence("queries, and their responses", frames[:40])],
    )

"""The downloads of a run as rows: each with its sources, their bytes by packets and by the client, and their limits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from vmtrace.analyze.findings.overhead import Overhead
from vmtrace.analyze.reports.swarm.capacity import CapacityRow, capacities_bps, key_of
from vmtrace.analyze.reports.swarm.measured import MeasuredDownload, MeasuredSource
from vmtrace.analyze.reports.swarm.records import FINISHED, FORBIDDEN, SWARM, WEB_SEED, SwarmRun
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, one_of

BLOCK_BYTES = 16_384
"""What BitTorrent asks for at once (BEP 3)."""

AGREES_WITHIN = 0.01
"""Packets and the client's counters, as a share of the client's."""


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One source of one download."""

    kind: Annotated[str, one_of("seed", "web_seed")]
    address: str
    bytes_by_packets: int | None
    """TCP payload from it, each byte once; None without a capture."""
    bytes_by_client: int
    share: Share | None
    """Of the payload of all sources, by packets, else by the client; None where no block came."""
    apart: float | None
    """By packets less by client, over the latter: the protocol's own bytes, and what either missed."""
    throughput_bps: Positive | None
    """From its first to its last payload, by packets; None where no block came."""
    active_s: Positive | None
    capacity_bps: Positive | None
    load: float | None
    """Its share over its share of the capacity: above 1 it carried more than its part."""
    connections: Count | None
    """With payload or without, by packets."""
    retransmitted_bytes: Count | None
    tls: bool | None
    limit: str | None
    limit_share: float | None
    limit_confidence: float | None
    limit_sentence: str | None
    errors: dict[str, int]
    banned: bool

    @property
    def bytes(self) -> int:
        """By packets, else by the client."""
        return self.bytes_by_client if self.bytes_by_packets is None else self.bytes_by_packets


@dataclass(frozen=True, slots=True)
class RunRow:
    """One download; the document's `runs` are these."""

    number: Count
    repeat: Count | None
    seeds: Count
    web_seed: Annotated[str, one_of("public", "forbidden", "none")]
    status: str
    error: str | None
    http_status: int | None
    start_ns: int
    duration_s: Positive
    """Until the last piece was verified, or the download ended otherwise."""
    throughput_bps: Positive | None
    """The file's bits over the duration; None of a download that did not finish."""
    bytes_by_packets: int | None
    bytes_by_client: int
    apart: float | None
    agrees: bool | None
    """Packets and client agree within 1 % for every source and in sum, but for a block of each connection that broke
    off; None without a capture or with drops."""
    web_seed_share: Share | None
    wire_bytes: Count | None
    """To and from all sources, headers and all."""
    overhead_ratio: float | None
    """Bytes on the wire beyond the file's, over the file's; None of a download that did not finish."""
    overhead_bytes: dict[str, int]
    wasted_bytes: Count | None
    """Received and thrown away: wrong hash, or received twice."""
    failed_bytes: Count | None
    redundant_bytes: Count | None
    hash_failures: int | None
    unattributed_bytes: int | None
    digest_ok: bool | None
    dropped_packets: int | None
    other_connections: int | None
    jain_index: Share | None
    fairness_missing: str | None
    """Why there is no index."""
    bin_s: Positive
    sources: tuple[SourceRow, ...] = field(default_factory=tuple)

    @property
    def finished(self) -> bool:
        """The whole file came, and its digest is right."""
        return self.status == FINISHED and self.digest_ok is not False

    def bytes_of(self, kind: str) -> int:
        """Of all sources of a kind."""
        return sum(source.bytes for source in self.sources if source.kind == kind)


def run_rows(run: SwarmRun, downloads: tuple[MeasuredDownload, ...], capacities: list[CapacityRow]) -> list[RunRow]:
    """A row for each download of the swarm; what measured a capacity is none."""
    known = capacities_bps(capacities)
    return [_run_row(run, one, known) for one in downloads if one.download.purpose == SWARM]


def _run_row(run: SwarmRun, one: MeasuredDownload, known: dict[str, float]) -> RunRow:
    download = one.download
    sources, missing = _source_rows(one, known)
    index = jain_index([row.load for row in sources if row.load is not None]) if missing is None else None
    size = run.size_bytes if download.finished else None
    wire, parts = _overhead(one, size)
    by_packets, store = one.bytes_by_packets, [row.share for row in sources if row.kind == WEB_SEED]
    dropped = download.capture_dropped if one.captured else None
    return RunRow(
        number=download.number,
        repeat=download.repeat,
        seeds=download.seeds,
        web_seed=download.web_seed,
        status=download.status,
        error=download.error,
        http_status=download.http_status,
        start_ns=download.start_ns,
        duration_s=download.duration_s,
        throughput_bps=size * 8 / download.duration_s if size and download.duration_s > 0 else None,
        bytes_by_packets=by_packets,
        bytes_by_client=download.client_bytes,
        apart=_apart(by_packets, download.client_bytes),
        agrees=_agrees(one, sources),
        web_seed_share=sum(share for share in store if share is not None) if download.client_bytes else None,
        wire_bytes=wire,
        overhead_ratio=(wire - size) / size if wire is not None and size else None,
        overhead_bytes=parts,
        wasted_bytes=_sum(download.failed_bytes, download.redundant_bytes),
        failed_bytes=download.failed_bytes,
        redundant_bytes=download.redundant_bytes,
        hash_failures=download.hash_failures,
        unattributed_bytes=download.unattributed_bytes,
        digest_ok=download.digest_ok,
        dropped_packets=dropped,
        other_connections=one.other_connections if one.captured else None,
        jain_index=index,
        fairness_missing=missing,
        bin_s=one.bin_s,
        sources=tuple(sources),
    )


def _source_rows(one: MeasuredDownload, known: dict[str, float]) -> tuple[list[SourceRow], str | None]:
    """Rows of all sources, and why fairness cannot be judged (None: it can)."""
    counts = [_bytes_of(one, source) for source in one.sources]
    total = sum(counts)
    shares = [count / total if total and one.download.client_bytes else None for count in counts]
    capacities = [known.get(key_of(source.source.kind, source.source.address)) for source in one.sources]
    # A store that refuses is no source: nothing of the load could lie on it.
    bears = [place for place, source in enumerate(one.sources) if not _refuses(one, source)]
    missing = _fairness_missing(one, bears, capacities, total)
    found: dict[int, float | None] = {}
    if missing is None:
        values = loads([shares[place] or 0.0 for place in bears], [capacities[place] for place in bears])
        found = dict(zip(bears, values, strict=True))
    rows = [
        _source_row(source, one.captured, shares[place], capacities[place], found.get(place))
        for place, source in enumerate(one.sources)
    ]
    return rows, missing


def _refuses(one: MeasuredDownload, source: MeasuredSource) -> bool:
    return one.download.web_seed == FORBIDDEN and source.source.kind == WEB_SEED


def _fairness_missing(
    one: MeasuredDownload, bears: list[int], capacities: list[float | None], total: int
) -> str | None:
    if not total:
        return "nothing was received"
    if len(bears) < 2:
        return "there is one source"
    unknown = [one.sources[place].source.address for place in bears if capacities[place] is None]
    if unknown:
        more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        return f"the capacity of {unknown[0]}{more} was not measured"
    return None


def _source_row(
    source: MeasuredSource, captured: bool, share: float | None, capacity_bps: float | None, load: float | None
) -> SourceRow:
    by_packets = source.bytes_by_packets if captured else None
    active_s, main = source.arrivals.active_s, source.main_connection
    return SourceRow(
        kind=source.source.kind,
        address=source.source.address,
        bytes_by_packets=by_packets,
        bytes_by_client=source.source.bytes,
        share=share,
        apart=_apart(by_packets, source.source.bytes),
        throughput_bps=by_packets * 8 / active_s if by_packets and active_s and source.source.bytes else None,
        active_s=active_s,
        capacity_bps=capacity_bps,
        load=load,
        connections=len(source.connections) if captured else None,
        retransmitted_bytes=source.overhead.parts["retransmitted_bytes"] if captured else None,
        tls=any(one.tls for one in source.connections) if source.connections else None,
        limit=main.verdict_factor if main is not None else None,
        limit_share=main.verdict_share if main is not None else None,
        limit_confidence=main.verdict_confidence if main is not None else None,
        limit_sentence=main.verdict_sentence if main is not None else None,
        errors=dict(source.source.errors),
        banned=source.source.banned,
    )


def _bytes_of(one: MeasuredDownload, source: MeasuredSource) -> int:
    return source.bytes_by_packets if one.captured else source.source.bytes


def _apart(by_packets: int | None, by_client: int) -> float | None:
    return (by_packets - by_client) / by_client if by_packets is not None and by_client else None


def _agrees(one: MeasuredDownload, sources: list[SourceRow]) -> bool | None:
    """Of sources that carried a hundredth or more: of less, a handshake is more than 1 %."""
    total = one.download.client_bytes
    if not one.captured or one.download.capture_dropped or not total:
        return None
    judged = [row for row in sources if row.bytes_by_client >= total / 100]
    broken_off = sum(map(_unfinished_bytes, sources))
    whole = _within(one.bytes_by_packets or 0, total, broken_off)
    return whole and all(_within(row.bytes, row.bytes_by_client, _unfinished_bytes(row)) for row in judged)


def _within(by_packets: int, by_client: int, more_bytes: int) -> bool:
    return abs(by_packets - by_client) <= AGREES_WITHIN * by_client + more_bytes


def _unfinished_bytes(row: SourceRow) -> int:
    """A block that a connection broke off in is on the wire, and the client does not count it."""
    return BLOCK_BYTES * sum(row.errors.values())


def _sum(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _overhead(one: MeasuredDownload, size_bytes: int | None) -> tuple[int | None, dict[str, int]]:
    """Bytes on the wire to and from all sources, by what they were for; the parts sum to them."""
    if not one.captured:
        return None, {}
    total = Overhead()
    for source in one.sources:
        total.merge(source.overhead)
    if size_bytes is None:
        return total.wire_bytes, dict(total.parts)
    # What only retransmissions brought was delivered: it is the file's or the protocol's, not overhead of TCP.
    brought = total.brought_by_retransmissions_bytes
    wasted = _sum(one.download.failed_bytes, one.download.redundant_bytes) or 0
    parts = {
        "file_bytes": size_bytes,
        "wasted_bytes": wasted,
        "protocol_bytes": total.application_bytes + brought - size_bytes - wasted,
        **total.parts,
        "retransmitted_bytes": total.parts["retransmitted_bytes"] - brought,
    }
    del parts["application_bytes"]
    return total.wire_bytes, parts


def jain_index(values: Sequence[float]) -> float | None:
    """(sum x)^2 / (n * sum x^2), from 1/n (one of n carries all) to 1; None without values, or where all are 0.

    Source: R. Jain, D. Chiu, W. Hawe, A Quantitative Measure of Fairness and Discrimination for Resource Allocation in
    Shared Computer Systems, DEC TR-301 (1984).
    """
    squares = sum(value * value for value in values)
    if not values or squares <= 0:
        return None
    return sum(values) ** 2 / (len(values) * squares)


def loads(shares: Sequence[float], capacities_bps: Sequence[float | None]) -> list[float | None]:
    """Each share over the source's share of all capacities; None where not all capacities are known."""
    known = [one for one in capacities_bps if one is not None and one > 0]
    total = sum(known)
    if not known or len(known) < len(capacities_bps):
        return [None] * len(shares)
    return [share / (capacity / total) for share, capacity in zip(shares, known, strict=True)]

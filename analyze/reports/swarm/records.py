"""The records of a swarm run's folder: `run.json` and the lines of `downloads.jsonl`."""

from dataclasses import dataclass
from pathlib import Path

from vmtrace.analyze.read.records.fields import Fields

SEED, WEB_SEED = "seed", "web_seed"
PUBLIC, FORBIDDEN, NONE = "public", "forbidden", "none"
SWARM, CAPACITY = "swarm", "capacity"
FINISHED = "finished"
Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Source:
    """A source of one download, as the client counted it."""

    kind: str
    endpoint: Endpoint | None
    """None: what the record says is no address."""
    address: str
    bytes: int
    """Payload: blocks of the file, those received twice or wrong included."""
    connections: int
    errors: tuple[tuple[str, int], ...]
    banned: bool


@dataclass(frozen=True, slots=True)
class Download:
    """One download."""

    number: int
    purpose: str
    web_seed: str
    seeds: int
    repeat: int | None
    status: str
    error: str | None
    http_status: int | None
    start_ns: int
    duration_s: float
    payload_bytes: int | None
    redundant_bytes: int | None
    failed_bytes: int | None
    hash_failures: int | None
    unattributed_bytes: int | None
    digest_ok: bool | None
    sources: tuple[Source, ...]
    capture_file: str | None
    capture_dropped: int | None
    capture_written: int | None

    @property
    def finished(self) -> bool:
        """The whole file came, and its digest is right."""
        return self.status == FINISHED and self.digest_ok is not False

    @property
    def client_bytes(self) -> int:
        """Of all sources, by the client's counters."""
        return sum(source.bytes for source in self.sources)


@dataclass(frozen=True, slots=True)
class SwarmRun:
    """A run folder as it was read."""

    folder: Path
    name: str
    id: str | None
    status: str
    error: str | None
    client: str | None
    file: str | None
    size_bytes: int | None
    piece_bytes: int | None
    web_seed: str | None
    trackers: tuple[str, ...]
    tracker_reply_s: float | None
    interface: str | None
    downloads_planned: int | None
    downloads: tuple[Download, ...]
    problems: tuple[str, ...]


def download_record(fields: Fields) -> Download:
    """A line of `downloads.jsonl`; raises `FieldError`."""
    capture = fields.part("capture")
    number, start_ns = fields.count("number"), fields.count("start_ns", 2**63 - 1)
    duration_s = fields.amount("duration_s")
    if number is None or start_ns is None or duration_s is None:
        raise fields.wrong("number, start_ns or duration_s", "there")
    return Download(
        number=number,
        purpose=_word(fields, "purpose", (SWARM, CAPACITY)),
        web_seed=_word(fields, "web_seed", (PUBLIC, FORBIDDEN, NONE)),
        seeds=fields.count("seeds") or 0,
        repeat=fields.count("repeat"),
        status=fields.text("status") or "unknown",
        error=fields.text("error"),
        http_status=fields.count("http_status"),
        start_ns=start_ns,
        duration_s=duration_s,
        payload_bytes=fields.count("payload_bytes"),
        redundant_bytes=fields.count("redundant_bytes"),
        failed_bytes=fields.count("failed_bytes"),
        hash_failures=fields.count("hash_failures"),
        unattributed_bytes=fields.integer("unattributed_bytes"),
        digest_ok=fields.flag("digest_ok"),
        sources=tuple(_source(source) for source in fields.parts("sources")),
        capture_file=capture.text("file") if capture else None,
        capture_dropped=capture.count("dropped") if capture else None,
        capture_written=capture.count("written") if capture else None,
    )


def _source(fields: Fields) -> Source:
    errors = fields.part("errors")
    counts = [(name, errors.count(name) or 0) for name in errors.names()] if errors else []
    return Source(
        kind=_word(fields, "kind", (SEED, WEB_SEED)),
        endpoint=fields.endpoint("address"),
        address=fields.text("address") or "unknown",
        bytes=fields.count("bytes") or 0,
        connections=fields.count("connections") or 0,
        errors=tuple(counts),
        banned=fields.flag("banned") or False,
    )


def _word(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    text = fields.text(name)
    if text not in known:
        raise fields.wrong(name, f"one of {', '.join(known)}")
    return text

"""The records of a swarm run's folder: `run.json` and the lines of `downloads.jsonl`."""

from dataclasses import dataclass

from vmtrace.analyze.read.records.fields import Count, Endpoint, Fields, Positive, Whole
from vmtrace.analyze.read.records.service_run import ServiceRun

SEED, WEB_SEED = "seed", "web_seed"
PUBLIC, FORBIDDEN, NONE = "public", "forbidden", "none"
SWARM, CAPACITY = "swarm", "capacity"
FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Source:
    """A source of one download, as the client counted it."""

    kind: str
    endpoint: Endpoint | None
    """None: what the record says is no address."""
    address: str
    bytes: Count
    """Payload: blocks of the file, those received twice or wrong included."""
    connections: Count
    errors: tuple[tuple[str, int], ...]
    banned: bool


@dataclass(frozen=True, slots=True)
class Download:
    """One download."""

    number: Whole
    purpose: str
    web_seed: str
    seeds: Count
    repeat: Count | None
    status: str
    error: str | None
    http_status: Count | None
    start_ns: Whole
    duration_s: float
    payload_bytes: Count | None
    redundant_bytes: Count | None
    failed_bytes: Count | None
    hash_failures: Count | None
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
class SwarmRun(ServiceRun):
    """A run folder as it was read."""

    client: str | None
    file: str | None
    size_bytes: int | None
    piece_bytes: int | None
    web_seed: str | None
    trackers: tuple[str, ...]
    tracker_reply_s: Positive | None
    interface: str | None
    downloads_planned: Count | None
    downloads: tuple[Download, ...]
    problems: tuple[str, ...]


def download_record(fields: Fields) -> Download:
    """A line of `downloads.jsonl`; raises `FieldError`."""
    duration_s = fields.amount("duration_s")
    if duration_s is None:
        raise fields.wrong("duration_s", "there")
    return fields.read(
        Download,
        duration_s=duration_s,
        sources=tuple(_source(source) for source in fields.parts("sources")),
        purpose=_word(fields, "purpose", (SWARM, CAPACITY)),
        web_seed=_word(fields, "web_seed", (PUBLIC, FORBIDDEN, NONE)),
        **fields.capture("dropped", "written"),
    )


def _source(fields: Fields) -> Source:
    errors = fields.part("errors")
    counts = tuple((name, errors.count(name) or 0) for name in errors.names()) if errors else ()
    kind = _word(fields, "kind", (SEED, WEB_SEED))
    return fields.read(Source, kind=kind, endpoint=fields.endpoint("address"), errors=counts)


def _word(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    text = fields.text(name)
    if text not in known:
        raise fields.wrong(name, f"one of {', '.join(known)}")
    return text

"""The fields of `vmtrace.analysis/1` and the columns of tables, as the engine describes them, and what Python adds.

The JSON Schema (`analyze/tables/schema`), the tables of the documentation and `vmtrace fields` follow from this list.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from vmtrace.analyze import _engine


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a section: what it is, and what it means."""

    path: str
    """Within the section: `flight.mean_bytes`; `*` stands for each of the values."""
    kind: str
    """`integer`, `instant`, `number`, `text`, `flag`, their lists (`integers` ...), `object`, `records`, `any` ..."""
    meaning: str
    unit: str = ""
    null: str | None = None
    """When it is null."""
    left_out: str | None = None
    """When it is left out, where that is not plain."""
    values: tuple[str, ...] = ()
    """All that it may be, or the names that `*` stands for."""
    there: str = "always"
    """Or `if_set`, which is not where it would be 0, false or empty, `if_known` not where it would be null."""
    signed: bool = False

    @property
    def sentence(self) -> str:
        """Meaning, values, and when it is null or left out, in Markdown."""
        listed = [value for value in self.values if f"`{value}`" not in self.meaning]
        one_of = "for each of " if "*" in self.path else "one of " if self.kind != "texts" else "of "
        parts = (
            self.meaning,
            one_of + ", ".join(f"`{value}`" for value in self.values) if listed else None,
            self.null and f"null {self.null}",
            self.left_out and f"left out {self.left_out}",
        )
        return "; ".join(part.rstrip(":") for part in parts if part)

    @property
    def plain(self) -> str:
        """The same without Markdown."""
        return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", self.sentence).replace("`", "")


@dataclass(frozen=True, slots=True)
class Section:
    """Fields that stand together in one object, or the columns of a table."""

    name: str
    places: tuple[str, ...]
    """Where the object is in the document: `connections[].tls`; empty for a table."""
    fields: tuple[Field, ...]

    def paths(self) -> Iterator[tuple[str, Field]]:
        """All fields, with their paths in the document (of a table: the columns) at the first place."""
        place = self.places[0] if self.places else f"{self.name}[]"
        for field in self.fields:
            yield f"{place}.{field.path}".lstrip("."), field


_BYTES = "wire_bytes link_bytes ip_bytes tcp_header_bytes tcp_option_bytes pure_ack_bytes retransmitted_bytes"
_SUMS = f"{_BYTES} tls_handshake_bytes tls_record_bytes application_bytes".split()

_OWNERS = (
    "client_application", "client_host", "server_application", "server_host", "path", "path_back", "device", "resolver",
    "unknown",
)  # fmt: skip

_FINDING = (
    Field("kind", "text", "what it is: a kind of [findings.md](findings.md), a factor or an outcome"),
    Field("owner", "text", "whose it is", values=_OWNERS),
    Field("cost_s", "number", "time that would be saved without it", "s", null="if nothing was waiting"),
    Field("share", "number", "that, of the time that was waited for", "0..1", null="if nothing was waiting"),
    Field("confidence", "number", "how sure it is", "0..1"),
    Field("connections_count", "integer", "how many connections it concerns"),
    Field("flows_count", "integer", "how many flows"),
    Field("lookups_count", "integer", "how many lookups"),
    Field("sentence", "text", "what it says"),
    Field("remedy", "text", "what to do"),
)

ADDED = (
    Section("findings", (), _FINDING),
    Section(
        "finding",
        ("findings[]",),
        (
            *_FINDING,
            Field("connections", "integers", "ids of the first 20 connections"),
            Field("flows", "integers", "ids of the first 20 flows"),
            Field("lookups", "integers", "places of the first 20 lookups"),
            Field("evidence", "records", "as in a verdict"),
            Field("what_if", "records", "as in a verdict"),
        ),
    ),
    Section(
        "document",
        ("",),
        (
            Field("findings", "records", "what the capture as a whole says, the costliest first", there="if_known"),
            Field(
                "runs",
                "records",
                "of each run folder that was named and holds captures of both sides: `{path, name, clock, two_sides,"
                " transfers}`, what the matched captures say together, as in"
                " [report.md](report.md#json-vmtracerun_report1)",
                left_out="with `--filter`, and without such folders",
                there="if_set",
            ),
            Field(
                "by_provider",
                "records",
                "sums over connections by service",
                left_out="without `--by provider`",
                there="if_known",
            ),
            Field(
                "allowance",
                "object",
                "what exceeds or matches an allowance",
                left_out="without `--instance-type TYPE` and `--allowance RATE`",
                there="if_known",
            ),
        ),
    ),
    Section(
        "allowance",
        ("allowance",),
        (
            Field("name", "text", "instance type, or the allowance as given"),
            Field("baseline_bps", "number", "rate that it sustains", "bit/s"),
            Field("burst_bps", "number", "rate that it reaches for a time", "bit/s"),
            Field(
                "single_flow_bps",
                "number",
                "limit of one connection outside a cluster placement group",
                "bit/s",
                null="with `--allowance`",
            ),
            Field("source", "text", "where these rates are from"),
            Field("peaks", "records", "windows above it, the highest first, of at most 100 connections"),
            Field("peaks[].connection", "integer", "number of the connection"),
            Field(
                "peaks[].direction", "text", "which of its directions", values=("client_to_server", "server_to_client")
            ),
            Field("peaks[].window", "text", "length of the window", values=("1ms", "10ms", "100ms")),
            Field("peaks[].rate_bps", "number", "rate in the window", "bit/s"),
            Field("peaks[].above", "text", "which rate it exceeds", values=("baseline", "burst")),
            Field("peaks[].frames", "integers", "first and last data packet of the window"),
            Field("token_buckets", "records", "the token buckets that were found"),
            Field("token_buckets[].connection", "integer", "number of the connection"),
            Field(
                "token_buckets[].direction",
                "text",
                "which of its directions",
                values=("client_to_server", "server_to_client"),
            ),
            Field("token_buckets[].sustained_bps", "number", "its sustained rate", "bit/s"),
            Field(
                "token_buckets[].matches",
                "text",
                "the rate that this is within 5 %",
                values=("baseline", "single_flow"),
                null="if it is neither",
            ),
        ),
    ),
    Section(
        "provider",
        ("by_provider[]",),
        (
            Field("provider", "text", "whose; `other` for a name nobody knows, `no name, port N` for none"),
            Field("service", "text", "which service", null="if only the provider is known"),
            Field("identified_by", "text", "what identified it, the most frequent first"),
            Field("regions", "text", "regions named", null="if there are none"),
            Field("connections", "integer", "number of connections"),
            Field("established", "integer", "those whose TCP handshake was seen to its end"),
            Field("syn_retransmissions", "integer", "their sum"),
            Field("server_addresses", "integer", "number of different addresses"),
            Field("tls_connections", "integer", "connections with TLS"),
            Field("tls_full_handshakes", "integer", "those with a full handshake"),
            Field(
                "tls_resumed", "integer", "those that resumed a session; of the others too little was captured to say"
            ),
            *(Field(name, "integer", "sums of the ledgers; the parts sum to `wire_bytes`", "bytes") for name in _SUMS),
            Field("tcp_payload_bytes", "integer", "what TCP carried, each byte once", "bytes"),
            Field("tcp_payload_ratio", "number", "that, over the application bytes", null="without application bytes"),
            Field("overhead_ratio", "number", "of the sums", null="without application bytes"),
            Field("handshake_rtt_s", "number", "median", "s", null="if none is known"),
            Field("tls_handshake_s", "number", "median", "s", null="if none is known"),
        ),
    ),
)
"""What Python adds to the document of the engine. A section that the engine has, too, gets more fields."""


def sections() -> tuple[Section, ...]:
    """All of them, in the order of the documentation."""
    found = {
        name: Section(name, tuple(places), tuple(Field(*one[:6], tuple(one[6]), *one[7:]) for one in fields))
        for name, places, fields in _engine.fields()
    }
    for section in ADDED:
        known = found.get(section.name)
        found[section.name] = replace(known, fields=known.fields + section.fields) if known else section
    return tuple(found.values())

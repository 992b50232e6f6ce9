"""The schema says what the contract says, and the engine writes what the schema says."""

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema
import pytest

from tests.cut import cut
from vmtrace.analyze._engine import TraceError
from vmtrace.analyze.tables.schema import NAMES, load
from vmtrace.analyze.tables.schema.typed import (
    FLAT,
    LEFT_OUT,
    Count,
    Share,
    as_record,
    bounds,
    keys,
    one_of,
    record_of,
    schema_of,
)
from vmtrace.analyze.trace import read

SCHEMA = load()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# The contract as it is published: a key may be added, none may go.
DIRECTION = (
    "packets wire_bytes data_packets data_segments payload_bytes unique_payload_bytes goodput_bps loss rtt spacing"
    " window flight limits"
)
CONTRACT = {
    "input": "path format compression link_types time_resolution_s packets tcp_packets captured_bytes wire_bytes"
    " start_ns end_ns undecoded_packets damage capture",
    "input.damage.items": "offset skipped_bytes what",
    "input.capture": "dropped_by_kernel dropped_by_interface unseen_acked_bytes duplicates reordered clock_steps",
    "connection": "id input client server start_ns duration_s handshake close vantage offload client_to_server"
    " server_to_client tls ledger verdict",
    "direction": DIRECTION,
    "spacing.anomalies.items": "start_ns gap_s cause confidence frames",
    "tls": "version cipher sni alpn resumed hello_retry early_data handshake_s handshake_round_trips"
    " client_handshake_bytes server_handshake_bytes certificate_bytes records record_overhead_bytes application_bytes"
    " alerts",
    "ledger": "wire_bytes link_bytes ip_bytes tcp_header_bytes tcp_option_bytes pure_ack_bytes retransmitted_bytes"
    " tls_handshake_bytes tls_record_bytes application_bytes overhead_ratio",
}


def errors(document: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(document)]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", CONTRACT)
def test_every_key_of_the_contract_is_required(name: str) -> None:
    definition, *path = name.split(".")
    node = SCHEMA["$defs"][definition]
    for part in path:
        node = node[part] if part == "items" else node["properties"][part]
    assert set(CONTRACT[name].split()) <= set(node["required"])


def test_a_transfer_is_described_as_the_schema_says(two_transfers: Any) -> None:
    document = read(two_transfers.bytes()).json()
    assert errors(document) == []
    assert len(document["connections"]) == 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "vmtrace.analysis/2"),
        (("connections", 0, "close"), "bye"),
        (("connections", 0, "client_to_server", "packets"), None),
        (("connections", 0, "client_to_server", "loss", "loss_rate"), 1.5),
        (("connections", 0, "ledger", "wire_bytes"), -1),
        (("inputs", 0, "link_types"), "EN10MB"),
    ],
)
def test_what_breaks_the_contract_is_found(transfer: Any, path: tuple[str | int, ...], value: object) -> None:
    document = read(transfer.bytes()).json()
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert errors(document) != []


def test_a_missing_key_is_found(transfer: Any) -> None:
    document = read(transfer.bytes()).json()
    del document["connections"][0]["client_to_server"]["rtt"]["p99_s"]
    assert errors(document) == ["$.connections[0].client_to_server.rtt: 'p99_s' is a required property"]


@pytest.mark.parametrize("most_bytes", cut([1_000_000, 1 << 40], 1), ids=["small", "all"])
def test_every_collected_capture_is_described_as_the_schema_says(traces: Path, most_bytes: int) -> None:
    wrong = {}
    for path in sorted(traces.iterdir()):
        if path.suffix == ".tsv" or path.stat().st_size > most_bytes:
            continue
        try:
            trace = read(path)
        except TraceError:
            continue
        found = errors(json.loads(json.dumps(trace.json())))
        if found:
            wrong[path.name] = found[:3]
    assert wrong == {}


def test_there_is_a_schema_for_each_name_and_no_other() -> None:
    for name in NAMES:
        schema = load(name)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["title"] == name.removesuffix(".1") + "/1"
        assert schema["description"]
    with pytest.raises(FileNotFoundError, match="there are vmtrace"):
        load("vmtrace.analysis.2")


class Inner(TypedDict):
    """A record within."""

    count: Annotated[int, bounds(minimum=1), "At least one."]
    next: "Inner | None"


class Outer(TypedDict):
    """A made-up document."""

    schema: Literal["made.up/1"]
    rate: NotRequired[Share | None]
    inner: list[Inner]
    by_name: dict[str, str | int]
    kind: Annotated[Literal["a", "b"] | None, "Null: neither."]


def test_a_record_says_its_schema() -> None:
    schema = schema_of(Outer, "made.up/1")
    assert schema["description"] == "A made-up document."
    assert schema["required"] == ["schema", "inner", "by_name", "kind"]
    assert schema["properties"] == {
        "schema": {"const": "made.up/1"},
        "rate": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "inner": {"type": "array", "items": {"$ref": "#/$defs/inner"}},
        "by_name": {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "kind": {"enum": ["a", "b", None], "description": "Null: neither."},
    }
    inner = schema["$defs"]["inner"]
    assert inner["description"] == "A record within."
    assert inner["properties"]["count"] == {"type": "integer", "minimum": 1, "description": "At least one."}
    assert inner["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]}


class End(Enum):
    """Of a path."""

    NEAR = "n"
    FAR = "f"


@dataclass(frozen=True)
class Spread:
    """Of a sample."""

    n: int
    most_s: float | None = None


@dataclass(frozen=True)
class MeasuredRow:
    """A row as it is measured."""

    DERIVED = ("twice",)

    from_: Annotated[str, one_of("due", "sent")]
    times_s: tuple[float, ...]
    """Up to None."""
    spread: Annotated[Spread, FLAT]
    by_end: Annotated[dict[str, Count], keys("near", "far")]
    by_cause: Annotated[dict[str, float], keys("wind", always=False)]
    end: End
    working: Annotated[object, LEFT_OUT] = None

    @property
    def twice(self) -> Count | None:
        """None without any."""
        return 2 * self.spread.n or None


class Written(TypedDict):
    """A document of rows."""

    rows: list[MeasuredRow]


def test_what_is_measured_says_its_schema_itself() -> None:
    measured = schema_of(Written, "made.up/1")["$defs"]["measured"]
    assert measured["description"] == "A row as it is measured."
    assert measured["required"] == ["from", "times_s", "n", "most_s", "by_end", "by_cause", "end", "twice"]
    count = {"type": "integer", "minimum": 0}
    assert measured["properties"] == {
        "from": {"enum": ["due", "sent"]},
        "times_s": {"type": "array", "items": {"type": "number"}, "description": "Up to null."},
        "n": {"type": "integer"},
        "most_s": {"type": ["number", "null"]},
        "by_end": {"type": "object", "required": ["near", "far"], "properties": {"near": count, "far": count}},
        "by_cause": {"type": "object", "required": [], "properties": {"wind": {"type": "number"}}},
        "end": {"enum": ["n", "f"], "description": "Of a path."},
        "twice": {"type": ["integer", "null"], "minimum": 0, "description": "Null without any."},
    }


def test_what_is_derived_is_written_with_what_is_measured() -> None:
    row = MeasuredRow("due", (1.0,), Spread(2, None), {"near": 1, "far": 0}, {}, End.NEAR)
    assert as_record(row)["twice"] == 4


class Part(TypedDict):
    """Of a document."""

    n: int
    name: str
    row: Annotated[Spread, FLAT]


def test_a_part_is_written_from_what_is_given_and_what_its_sources_have() -> None:
    record = record_of(Part, Spread(2, 0.5), name="x", row=Spread(3, None))
    assert record == {"n": 3, "name": "x", "most_s": None}
    with pytest.raises(StopIteration):
        record_of(Part, Spread(2, 0.5))

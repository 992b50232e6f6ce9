"""Whatever a table holds, there is a plan that comes back from its record, or one line."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan_record import plan_from_record, plan_record

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.dates(), st.datetimes(), st.times()
)
key_words = st.sampled_from(
    [
        *("name", "repeat", "duration_s", "seed", "ip_version", "pairs", "gap_s", "transfer", "entries", "index"),
        *("probe", "data", "bytes", "direction", "streams", "tls", "congestion_control", "send_buffer_bytes", "dscp"),
    ]
)
tables = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(key_words, st.text(max_size=5)), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(tables)
def test_whatever_a_file_may_hold_there_is_a_plan_or_one_line(value: Any) -> None:
    try:
        plan = plan_from_record(value)
    except SenderError as error:
        said = str(error)
    else:
        assert plan_from_record(plan_record(plan)) == plan
        said = "a plan"
    assert said
    assert "\n" not in said


sizes = st.one_of(st.integers(1, 1 << 50), st.sampled_from(["16 KiB", "8 MB", "1.5kB", "1"]))
transfers = st.fixed_dictionaries(
    {"bytes": sizes},
    optional={
        "direction": st.sampled_from(["upload", "download", "both"]),
        "streams": st.integers(1, 1000),
        "tls": st.booleans(),
        "dscp": st.integers(0, 63),
        "mss_bytes": st.integers(88, 32767),
        "send_buffer_bytes": st.sampled_from(["1 MiB", 4096]),
        "congestion_control": st.sampled_from(["cubic", "bbr"]),
    },
)
entries = st.fixed_dictionaries(
    {"probe": st.one_of(sizes, transfers), "data": transfers},
    optional={"pairs": st.integers(1, 50), "gap_s": st.sampled_from(["2s", 0, 1.5])},
)


@settings(max_examples=40)
@given(st.lists(entries, min_size=1, max_size=5), st.sampled_from([0.001, 0.1, 1.0]))
def test_a_plan_comes_back_from_its_record_and_survives_json(listed: list[Any], scale: float) -> None:
    plan = plan_from_record({"entries": listed}).scaled(scale)
    assert plan_from_record(json.loads(json.dumps(plan_record(plan)))) == plan
    assert all(entry.probe.bytes >= 1 and entry.data.bytes >= 1 for entry in plan.entries)

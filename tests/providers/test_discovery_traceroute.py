"""Routes by tools that speak JSON; what they print is read with care."""

import json
import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.providers.discovery import traceroute
from vmtrace.providers.discovery.traceroute import (
    ICMP,
    TCP,
    Hop,
    Trace,
    TracerouteError,
    parse_mtr,
    parse_scamper,
    traces,
)

SCAMPER = "\n".join(
    [
        '{"type":"cycle-start", "id":0}',
        json.dumps({
            "type": "trace", "dst": "192.0.2.9", "method": "tcp",
            "hops": [
                {"addr": "10.0.0.1", "probe_ttl": 1, "rtt": 0.5},
                {"addr": "10.0.0.3", "probe_ttl": 3, "rtt": 9.5},
                {"addr": "10.0.0.3", "probe_ttl": 3, "rtt": 9.0},
                {"addr": "192.0.2.9", "probe_ttl": 4, "rtt": 10.0},
            ],
        }),
        '{"type":"trace", "dst":"192.0.2.10"}',
        "no JSON at all",
    ]
)  # fmt: skip
MTR = json.dumps(
    {
        "report": {
            "hubs": [
                {"count": 1, "host": "10.0.0.1", "Best": 0.5},
                {"count": 2, "host": "???", "Best": 0.0},
                {"count": 3, "host": "192.0.2.9", "Best": 10.0},
            ]
        }
    }
)


def test_scamper_gives_routers_without_the_address_itself() -> None:
    first, second = parse_scamper(SCAMPER, TCP)
    assert first == Trace("192.0.2.9", TCP, "scamper", True, (Hop(1, "10.0.0.1", 0.0005), Hop(3, "10.0.0.3", 0.009)))
    assert (second.reached, second.hops) == (False, ())


def test_mtr_gives_routers_without_those_that_are_silent() -> None:
    (one,) = parse_mtr(MTR, "192.0.2.9", ICMP)
    assert one == Trace("192.0.2.9", ICMP, "mtr", True, (Hop(1, "10.0.0.1", 0.0005),))


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "dst", "hops", "addr", "rtt", "probe_ttl", "report", "hubs", "host", "count", "Best"]
            ),
            inner | st.sampled_from(["trace", "192.0.2.1", "::1"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(NESTED)
def test_any_json_of_a_tool_is_traces_or_nothing(content: object) -> None:
    text = json.dumps(content)
    for one in [*parse_scamper(text, ICMP), *parse_mtr(text, "192.0.2.1", ICMP)]:
        assert all(0 <= hop.rtt_s < 60 for hop in one.hops)


@given(st.text(max_size=200))
def test_any_text_of_a_tool_is_traces_or_nothing(text: str) -> None:
    assert list(parse_scamper(text, ICMP)) == []
    assert list(parse_mtr(text, "192.0.2.1", ICMP)) == []


def test_without_a_tool_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TracerouteError, match="apt-get install scamper"):
        traces(["127.0.0.1"], ICMP, 443, threading.Event())
    assert traces([], ICMP, 443, threading.Event()) == []


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("name", ["scamper", "mtr"])
def test_the_real_tools_reach_this_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setattr(traceroute, "tool", lambda: name)
    (one,) = traces(["127.0.0.1"], ICMP, 443, threading.Event())
    assert (one.address, one.tool, one.reached, one.hops) == ("127.0.0.1", name, True, ())


def test_a_tool_that_fails_is_reported_with_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "scamper"
    fake.write_text("#!/bin/sh\necho first >&2\necho 'no rights' >&2\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(TracerouteError, match="status 3: no rights"):
        traces(["127.0.0.1"], ICMP, 443, threading.Event())


def test_a_tool_that_hangs_ends_with_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "scamper"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    ended = threading.Event()
    threading.Timer(0.3, ended.set).start()
    with pytest.raises(TracerouteError):
        traces(["127.0.0.1"], ICMP, 443, ended)

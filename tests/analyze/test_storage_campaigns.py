"""What is computed of campaigns: steps in a series, knees, joins with packets, thinning, and bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.utils import rdpcap, wrpcap

from tests.analyze import storage_made
from tests.analyze.campaign_made import START_NS, campaign_of, folder_of, request
from vmtrace.analyze.reports.storage.campaign import between, has_anything
from vmtrace.analyze.reports.storage.knee import knee
from vmtrace.analyze.reports.storage.network_events import change_points
from vmtrace.analyze.reports.storage.packet_facts import connections_of, facts_of, facts_path, read_facts
from vmtrace.analyze.reports.storage.requests import made, read_requests
from vmtrace.analyze.reports.storage.thinning import thin

CHANCE = np.random.default_rng(3)


def series(*levels: tuple[int, float], spread: float = 0.1) -> list[dict[str, Any]]:
    rates = [level * CHANCE.uniform(1 - spread, 1 + spread) for count, level in levels for _ in range(count)]
    return [request(10.0 * place, rate, probe=place + 1) for place, rate in enumerate(rates)]


def test_a_step_is_found_at_its_place_and_two_are_two() -> None:
    (one,) = change_points(made(series((60, 8e6), (40, 4e6))), None)
    assert one.first_after_ns == START_NS + 600 * 10**9
    assert (one.n_before, one.n_after, one.unit) == (60, 40, "request")
    assert one.ratio == pytest.approx(0.5, rel=0.05)
    assert len(change_points(made(series((50, 8e6), (50, 4e6), (50, 12e6))), None)) == 2


def test_chance_and_small_changes_are_no_steps() -> None:
    assert change_points(made(series((200, 8e6), spread=0.5)), None) == []
    assert change_points(made(series((100, 8e6), (100, 7.6e6), spread=0.01)), None) == []


def test_steps_of_sizes_and_directions_are_told_apart() -> None:
    both = series((40, 8e6), (40, 4e6)) + [{**one, "direction": "upload"} for one in series((80, 8e6))]
    assert [one.direction for one in change_points(made(both), None)] == ["download"]


def test_the_knee_lies_where_the_ramp_ends() -> None:
    values = {n: [10e6 * min(n, 4) * CHANCE.uniform(0.97, 1.03) for _ in range(5)] for n in (1, 2, 3, 4, 5, 6, 8)}
    found = knee(values)
    assert found.at == pytest.approx(4, rel=0.1)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 4.2
    assert found.high >= 3.8
    assert found.plateau_bps == pytest.approx(40e6, rel=0.05)


def test_a_ramp_without_an_end_has_no_knee() -> None:
    assert knee({n: [10e6 * n] for n in (1, 2, 4, 8)}).at is None
    assert knee({1: [1.0], 2: [2.0]}).at is None


PORTS = (40_001, 40_002, 40_003)


def with_packets(folder: Path) -> Path:
    """Three requests over a connection each, the second of which is the slowest."""
    requests = []
    packets: list[Any] = []
    for place, port in enumerate(PORTS):
        start_ms = 1000.0 * place
        packets += storage_made.talk(port, start_ms, [(100, 1000)])
        requests.append(
            request(
                0, 8e6, bytes=1000, probe=place + 1, start_ns=storage_made.START_NS + round(start_ms * 1e6) - 10**6,
                duration_s=0.5 if place == 1 else 0.1,
                connections=[{"local": f"10.0.0.1:{port}", "peer": "192.0.2.1:443", "requests": 1, "opened": True}],
            )
        )  # fmt: skip
    run = folder_of(folder, "probes", requests)
    (run / "packets").mkdir()
    wrpcap(str(run / "packets/01-0001.pcap"), packets, nano=True)
    return run


def test_requests_have_the_round_trip_and_the_window_of_their_connections(tmp_path: Path) -> None:
    run = with_packets(tmp_path / "run")
    requests = read_requests(run, [])
    assert requests is not None
    facts = facts_of(run, requests)
    assert facts is not None
    assert facts.seen == 3
    assert facts.rtt_s == pytest.approx([0.01] * 3, abs=1e-3)
    assert facts.window_scale.tolist() == [0, 0, 0]
    assert facts.window_bytes.tolist() == [60_000] * 3


def test_thinning_keeps_the_slowest_and_every_number(tmp_path: Path) -> None:
    run = with_packets(tmp_path / "run")
    capture = run / "packets/01-0001.pcap"
    requests = read_requests(run, [])
    assert requests is not None
    before, of = facts_of(run, requests), len(rdpcap(str(capture)))
    kept = thin(run, capture, 0.01)
    assert (kept.packets, kept.of) == (of // 3, of)
    ports = {port for packet in rdpcap(str(capture)) for port in (packet["TCP"].sport, packet["TCP"].dport)}
    assert ports == {PORTS[1], 443}
    after = facts_of(run, requests)
    assert before is not None
    assert after is not None
    assert after.rtt_s.tolist() == before.rtt_s.tolist()
    assert after.window_bytes.tolist() == before.window_bytes.tolist()
    assert len(read_facts(facts_path(capture))) == 3
    assert len(connections_of(capture)) == 1


def test_what_is_no_capture_is_left_alone(tmp_path: Path) -> None:
    run = with_packets(tmp_path / "run")
    capture = run / "packets/01-0001.pcap"
    capture.write_bytes(capture.read_bytes()[:24] + b"\xff" * 64)
    content = capture.read_bytes()
    with pytest.raises((ValueError, OSError)):
        thin(run, capture, 0.01)
    assert capture.read_bytes() == content
    assert not facts_path(capture).exists()
    assert sorted(path.name for path in capture.parent.iterdir()) == ["01-0001.pcap"]


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "[]", "null", "3", '{"direction": "download"}', json.dumps(request(0, 8e6) | {"bytes": "1"}),
        json.dumps(request(0, 8e6) | {"duration_s": -1}), json.dumps(request(0, 8e6) | {"outcome": "fine"}),
        json.dumps(request(0, 8e6) | {"lookups": [{"name": 3, "ttl_s": 1}]}),
        json.dumps(request(0, 8e6) | {"retry_causes": {"503": -1}}), json.dumps(request(0, 8e6) | {"start_ns": 2**70}),
    ],
)  # fmt: skip
def test_a_line_that_is_no_request_is_left_out_and_counted(line: str, tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run", "probes", [request(0, 8e6)])
    with (run / "requests.jsonl").open("a") as file:
        file.write(f"{line}\n{json.dumps(request(5, 8e6))}\n{{torn")
    problems: list[str] = []
    requests = read_requests(run, problems)
    assert requests is not None
    assert len(requests) == 2
    assert len(problems) == 2


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "requests.jsonl").write_bytes(data)
        read_requests(Path(name), [])


def test_runs_that_do_not_belong_together_are_pointed_out(tmp_path: Path) -> None:
    clocks = [{"source": "chrony", "synchronised": True, "offset_s": offset, "error_s": 0.01} for offset in (0.0, 1.5)]
    runs = []
    for number in (0, 1):
        more: dict[str, Any] = {
            "clock": clocks[number],
            "surge_start_ns": START_NS + number,
            "plan": {"step_s": 600.0 + number},
        }
        runs.append(campaign_of(folder_of(tmp_path / f"run{number}", "surge", [request(0, 8e6)], **more)))
    shown = between(runs)
    assert len(shown) == 3
    assert "different plans of kind surge" in shown[0]
    assert "did not begin at the same time" in shown[1]
    assert "1.50 s apart" in shown[2]
    assert between(runs[:1]) == []


def test_a_campaign_without_a_request_has_nothing_to_report(tmp_path: Path) -> None:
    assert not has_anything(campaign_of(folder_of(tmp_path / "run", "probes")))
    assert not has_anything(campaign_of(folder_of(tmp_path / "sweep", "sweep")))


def test_objects_that_disappeared_and_dropped_packets_are_said_first(tmp_path: Path) -> None:
    run = with_packets(tmp_path / "run")
    state = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(state | {"stock_replaced": 2}))
    (run / "packets/01-0001.capture.json").write_text(json.dumps({"dropped_by_kernel": 4, "dropped_by_interface": 3}))
    problems = campaign_of(run).problems
    assert any("2 objects of the stock disappeared" in one for one in problems)
    assert any("7 packets dropped" in one for one in problems)

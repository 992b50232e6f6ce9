"""What the studies published, as logs of campaigns: their tables come out as they are printed.

Sources: S. Garfinkel, Harvard TR-08-07 (2007), sections 5.4 to 5.9; M. Palankar and others, DADC 2008, section 4.3.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests import golden_texts
from tests.analyze.campaign_made import S_NS, START_NS, campaign_of, folder_of, request, with_moments
from vmtrace.analyze.reports.storage.run_folder import read_storage_run

# Table 2: location, N, mean, top 1 %, standard deviation of reads and of writes, in kilobytes per second.
TABLE_2 = [
    ("Netherlands", 1572, (212, 294, 34), (382, 493, 142)),
    ("Harvard", 914, (412, 796, 121), (620, 844, 95)),
    ("ISP PIT", 852, (530, 1005, 183), (1546, 2048, 404)),
    ("MIT", 864, (651, 1033, 231), (2200, 2741, 464)),
    ("EC2", 5483, (799, 1314, 320), (5279, 10229, 2209)),
]
# Table 1: address, count, first and last seen (UTC).
TABLE_1 = [
    ("72.21.202.37", 526, "2007-03-20 23:21:13", "2007-04-30 04:12:04"),
    ("72.21.202.66", 547, "2007-03-20 23:22:29", "2007-04-30 06:06:31"),
    ("72.21.203.129", 522, "2007-03-21 07:03:49", "2007-04-30 05:25:53"),
    ("72.21.206.171", 487, "2007-03-20 22:44:51", "2007-04-30 04:12:04"),
    ("72.21.206.184", 505, "2007-03-21 04:14:22", "2007-04-30 03:58:25"),
    ("72.21.207.241", 499, "2007-03-20 23:22:29", "2007-04-30 04:12:04"),
    ("72.21.211.210", 500, "2007-03-20 22:54:40", "2007-04-30 05:38:45"),
    ("72.21.211.225", 511, "2007-03-21 00:43:51", "2007-04-30 04:12:04"),
    ("72.21.211.241", 565, "2007-03-21 01:15:41", "2007-04-30 04:09:01"),
    ("207.171.181.225", 1, "2007-04-06 13:58:25", "2007-04-06 13:58:25"),
]


@pytest.mark.parametrize("row", TABLE_2, ids=lambda row: row[0])
def test_table_2_of_garfinkel_comes_out(row: tuple[str, int, tuple[int, ...], tuple[int, ...]], tmp_path: Path) -> None:
    location, n, *sides = row
    requests = [
        request(60.0 * place, 8e3 * rate, direction=direction)
        for direction, (mean, top, stdev) in zip(("download", "upload"), sides, strict=True)
        for place, rate in enumerate(with_moments(n, mean, stdev, top))
    ]
    campaign = campaign_of(folder_of(tmp_path / "run", "locations", requests, location=location))
    found = {one.direction: one for one in campaign.locations}
    for direction, (mean, top, stdev) in zip(("download", "upload"), sides, strict=True):
        one = found[direction]
        assert (one.location, one.n, one.size_bytes) == (location, n, 1_000_000)
        assert round(one.mean_bps / 8e3) == mean
        assert round(one.top1_bps / 8e3) == top
        assert one.stdev_bps is not None
        assert round(one.stdev_bps / 8e3) == stdev


def test_table_1_of_garfinkel_comes_out(tmp_path: Path) -> None:
    requests = []
    for address, count, first, last in TABLE_1:
        begin, end = (
            int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * S_NS) for text in (first, last)
        )
        for place in range(count):
            at = begin + (end - begin) * place // max(count - 1, 1)
            requests.append(request(0, 8e6, start_ns=at, front_end=f"{address}:80"))
    campaign = campaign_of(folder_of(tmp_path / "run", "probes", requests))
    found = {
        one.address: (
            one.count,
            *(str(datetime.fromtimestamp(t // S_NS, UTC))[:19] for t in (one.first_seen_ns, one.last_seen_ns)),
        )
        for one in campaign.addresses
    }
    assert found == {address: (count, first, last) for address, count, first, last in TABLE_1}


def test_availability_of_palankar_comes_out(tmp_path: Path) -> None:
    shares = [0.9589, 0.9806, 0.9901, 0.9976, 0.9994, 1.0]
    counts = [round(15_456 * share) for share in shares]
    needed = [
        retries
        for retries, (low, high) in enumerate(zip([0, *counts], counts, strict=False))
        for _ in range(high - low)
    ]
    requests = [
        request(900.0 * place, 8e6, retries=retries, retry_causes={"503": retries} if retries else {})
        for place, retries in enumerate(needed)
    ]
    campaign = campaign_of(folder_of(tmp_path / "run", "availability", requests))
    assert [(one.retries, f"{one.share:.2%}") for one in campaign.availability] == [
        (0, "95.89%"), (1, "98.06%"), (2, "99.01%"), (3, "99.76%"), (4, "99.94%"), (5, "100.00%"),
    ]  # fmt: skip
    assert campaign.retries[0].causes == {"503": sum(needed)}


def test_retries_and_errors_of_garfinkel_are_told_apart(tmp_path: Path) -> None:
    """Section 5.8: six write retries, three write errors, four read retries, and none that was fatal."""
    requests = [request(10.0 * n, 8e6, direction="upload", retries=1, retry_causes={"503": 1}) for n in range(6)]
    requests += [
        request(10.0 * n, 8e6, direction="upload", outcome="write_error", error_kind="digest", digest_ok=False)
        for n in range(3)
    ]
    requests += [request(10.0 * n, 8e6, retries=1, retry_causes={"connection": 1}) for n in range(4)]
    campaign = campaign_of(folder_of(tmp_path / "run", "probes", requests))
    found = {one.direction: (one.retries, one.errors, one.failed) for one in campaign.retries}
    assert found == {"upload": (6, 3, 0), "download": (4, 0, 0)}


def test_the_t_test_of_hours_is_the_study_s(tmp_path: Path) -> None:
    """Section 5.4: 1000-1100 against 1600-1700 UTC, n1 = 126, n2 = 112, p < .0001."""
    chance = np.random.default_rng(4)
    midnight_s = -(START_NS // S_NS) % 86_400
    requests = []
    for hour, n, mean in ((10, 126, 16.5), (16, 112, 14.0), (20, 100, 16.4)):
        for place, rate in enumerate(chance.normal(mean, 2.0, n)):
            at_s = midnight_s + 86_400 * place + 3600 * hour + 10
            requests.append(request(at_s, 8e6 * rate, bytes=100_000_000))
    campaign = campaign_of(folder_of(tmp_path / "run", "probes", requests))
    first = {(one.first_hour, one.second_hour): one for one in campaign.hour_tests}[10, 16]
    assert (first.first_n, first.second_n) == (126, 112)
    assert first.p < 1e-4
    assert first.p <= first.p_adjusted < 1e-4
    assert {(one.first_hour, one.second_hour): one.p_adjusted > 0.05 for one in campaign.hour_tests}[10, 20]


@pytest.mark.parametrize(("size", "n", "r"), [(1, 1464, 0.22), (100_000_000, 1460, 0.85)])
def test_correlation_of_successive_requests_is_the_study_s(size: int, n: int, r: float, tmp_path: Path) -> None:
    """Section 5.6 and Fig. 7: r = 0.22 for one byte, r = 0.85 for 100 MB, p << .001."""
    chance = np.random.default_rng(7)
    both = chance.standard_normal((2, n))
    both -= both.mean(axis=1, keepdims=True)
    first = both[0] / np.linalg.norm(both[0])
    rest = both[1] - (both[1] @ first) * first
    second = r * first + np.sqrt(1 - r * r) * rest / np.linalg.norm(rest)
    requests = [
        request(100.0 * place, 8e6 * (10 + 50 * value), bytes=size, probe=place + 1, position=position)
        for position, values in ((1, first), (2, second))
        for place, value in enumerate(values)
    ]
    campaign = campaign_of(folder_of(tmp_path / "run", "probes", requests))
    (row,) = campaign.successive
    assert row.n == n
    assert row.r == pytest.approx(r, abs=1e-9)
    assert row.p is not None
    assert row.p < 1e-3


def test_five_groups_of_fig_6_are_five_modes_and_fig_5_has_fewer(tmp_path: Path) -> None:
    chance = np.random.default_rng(6)
    groups = np.concatenate([chance.normal(middle, 0.4, 584) for middle in (6, 9, 12, 15, 18)])
    single = chance.normal(50, 12, 2928)
    requests = [request(60.0 * n, 8e6 * rate, bytes=100_000_000) for n, rate in enumerate(groups)]
    requests += [request(60.0 * n, 8 * max(rate, 1.0), bytes=1) for n, rate in enumerate(single)]
    campaign = campaign_of(folder_of(tmp_path / "run", "probes", requests))
    found = {one.size_bytes: one.modes for one in campaign.sizes}
    assert found == {1: 1, 100_000_000: 5}


def test_the_drop_of_april_is_found_dated_and_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 5.4: two milliseconds more, a window of 65,535 bytes, and throughput fell between April 9 and 11."""
    from vmtrace.analyze.reports.storage import campaign as campaign_module
    from vmtrace.analyze.reports.storage.packet_facts import PacketFacts

    day_s = 86_400.0
    change_s = 21.4 * day_s
    chance = np.random.default_rng(10)
    requests, rtts = [], []
    for place in range(1500):
        at_s = place * 40 * day_s / 1500
        rtt_s = 0.0032 if at_s < change_s else 0.0052
        window_bps = 8 * 65_535 / rtt_s
        requests.append(request(at_s, window_bps * chance.uniform(0.8, 1.0), bytes=100_000_000, probe=place + 1))
        rtts.append(rtt_s * chance.uniform(0.98, 1.02))
    folder = folder_of(tmp_path / "run", "probes", requests)

    def facts(*_: object) -> PacketFacts:
        n = len(rtts)
        return PacketFacts(np.array(rtts), np.zeros(n), np.full(n, 65_535.0), np.full(n, 1460.0), np.full(n, -1), (), n)

    monkeypatch.setattr(campaign_module, "facts_of", facts)
    (point,) = campaign_of(folder).change_points
    assert point.unit == "day"
    assert point.last_before_ns <= START_NS + change_s * S_NS <= point.first_after_ns
    assert (point.first_after_ns - point.last_before_ns) / S_NS < 3600
    assert point.ratio == pytest.approx(0.0032 / 0.0052, rel=0.05)
    assert point.window_bytes == 65_535
    assert point.explanation is not None
    golden_texts.check("the-drop-of-april-is-found-dated-and-explained", point.explanation)
    assert [one.what for one in point.changes] == ["RTT"]


def test_the_published_surge_comes_out(tmp_path: Path) -> None:
    """Fig. 8: a thread halves from one to six threads, all together triple, to roughly 30 MB/s."""
    requests, steps = [], []
    for threads in range(1, 7):
        thread_mb = 10.0 / (1 + (threads - 1) / 5)
        start_s = 600.0 * (threads - 1)
        start_ns = START_NS + round(start_s * S_NS)
        steps.append(
            {"step": threads, "round": 1, "threads": threads, "direction": "download", "start_ns": start_ns,
             "end_ns": start_ns + 600 * S_NS, "cost": None}
        )  # fmt: skip
        for thread in range(threads):
            at_s = start_s
            while at_s < start_s + 600:
                one = request(
                    at_s, 8e6 * thread_mb, bytes=100_000_000, step=threads, threads=threads, thread=thread + 1
                )
                requests.append(one)
                at_s += one["duration_s"]
    campaign = campaign_of(folder_of(tmp_path / "run", "surge", requests, steps, host="usma1"))
    found = {one.threads: one for one in campaign.surge}
    assert {one.host for one in campaign.surge} == {"usma1"}
    per_thread = [found[threads].per_thread_bps or 0 for threads in (1, 6)]
    assert [round(rate / 8e6, 1) for rate in per_thread] == [10.0, 5.0]
    assert found[6].combined_bps / 8e6 == pytest.approx(30, rel=0.02)
    assert found[6].combined_bps / found[1].combined_bps == pytest.approx(3, rel=0.03)
    assert sum(one.n for one in campaign.surge) == len(requests)


def test_the_published_sweep_comes_out(tmp_path: Path) -> None:
    """Yoon and others: 5.20 MB/s at 10 connections and 6.21 at 14 from disk; 22.32 from memory, a knee near 20."""
    curve = {
        ("disk", 5): 2.6, ("disk", 10): 5.20, ("disk", 14): 6.21, ("disk", 20): 6.0,
        ("tmpfs", 5): 5.6, ("tmpfs", 10): 11.2, ("tmpfs", 20): 22.32, ("tmpfs", 40): 22.3, ("tmpfs", 80): 22.3,
    }  # fmt: skip
    steps: list[dict[str, object]] = []
    for (source, connections), mb in curve.items():
        cpu = 0.97 if source == "tmpfs" and connections >= 20 else 0.4
        disk = 0.97 if source == "disk" and connections >= 14 else 0.1
        number = len(steps) + 1
        cost = {
            "duration_s": 100.0, "processors": 2.0, "process_share": cpu, "host_share": cpu, "throttled_s": None,
            "disk_read_bytes": 0, "disk_busy_share": disk,
        }  # fmt: skip
        steps.append(
            {"step": number, "connections": connections, "connections_used": connections, "part_bytes": 5 << 20,
             "parts": 200, "bytes": round(mb * 1e8), "source": source, "merge": False, "merge_s": 0.4,
             "start_ns": START_NS + number * 100 * S_NS, "end_ns": START_NS + (number + 1) * 100 * S_NS,
             "duration_s": 100.0, "retries": 0, "outcome": "done", "cost": cost}
        )  # fmt: skip
    campaign = campaign_of(folder_of(tmp_path / "run", "sweep", (), steps))
    found = {(one.source, one.connections): one for one in campaign.sweep}
    assert {key: round((one.bps or 0) / 8e6, 2) for key, one in found.items()} == curve
    assert found["disk", 14].bottleneck == "disk"
    assert found["tmpfs", 20].bottleneck == "cpu"
    knees = {one.source: one.knee.at for one in campaign.sweep_knees}
    assert knees["tmpfs"] == pytest.approx(20, rel=0.1)
    assert [(one.parts, one.seconds) for one in campaign.merge] == [(200, 0.4)]


def test_the_tables_are_in_the_json_document(tmp_path: Path) -> None:
    from vmtrace.analyze.reports.storage.document import document
    from vmtrace.analyze.reports.storage.measured import measure_run
    from vmtrace.analyze.reports.storage.tables import reports_of

    folder = folder_of(tmp_path / "run", "probes", [request(60.0 * n, 8e6, probe=n + 1) for n in range(30)])
    run = read_storage_run(folder)
    measured = measure_run(run)
    found = json.loads(json.dumps(document(reports_of([measured], {}, {run.name: campaign_of(folder)}))["runs"][0]))
    assert set(found["probes"]) == {
        "sizes", "daily", "hourly", "hour_tests", "successive", "addresses", "change_points", "events",
    }  # fmt: skip
    assert {"surge", "locations", "sweep", "merge", "availability", "campaign"} <= set(found)
    assert set(found["availability"][0]) >= {"retries", "share"}
    assert set(found["locations"][0]) >= {
        "location", "direction", "size_bytes", "n", "mean_bps", "top1_bps", "stdev_bps",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["probes", "surge", "sweep", "locations", "availability"])
def test_the_document_of_every_kind_fits_its_schema(kind: str, tmp_path: Path) -> None:
    import jsonschema

    from vmtrace.analyze.reports.storage.document import document
    from vmtrace.analyze.reports.storage.measured import measure_run
    from vmtrace.analyze.reports.storage.tables import reports_of
    from vmtrace.analyze.tables.schema import load

    requests = [request(60.0 * n, 8e6 * (1 + n % 3), probe=n // 2 + 1, position=n % 2 + 1) for n in range(60)]
    step = {"step": 1, "threads": 1, "connections": 2, "part_bytes": 5, "parts": 2, "bytes": 10, "start_ns": START_NS,
            "end_ns": START_NS + S_NS, "duration_s": 1.0, "outcome": "done", "merge_s": 0.1}  # fmt: skip
    folder = folder_of(tmp_path / "run", kind, requests, [step])
    run = read_storage_run(folder)
    made = document(reports_of([measure_run(run)], {}, {run.name: campaign_of(folder)}))
    jsonschema.validate(json.loads(json.dumps(made)), load("vmtrace.storage_report.1"))

"""Lanes of the host beside a capture of a run folder: its own counters, over the time of the connection."""

from pathlib import Path
from typing import Any

import pytest

from tests.analyze.conftest import START_S
from vmtrace.analyze.reports.capture.host_lanes import host_lanes

COLUMNS = "time_ns,cpu_user_s,cpu_idle_s,cpu_steal_s,nic_bw_out_allowance_exceeded"
RECORD = {"start_ns": START_S * 10**9 + 500_000_000, "duration_s": 2.0}


@pytest.fixture
def run(new_run: Any) -> Path:
    made = new_run()
    (made.folder / "host").mkdir()
    rows = ["0,0,0,0", "0.2,0.8,0,0", "0.5,1.4,0.1,7", "0.6,2.3,0.1,7", "0.7,3.2,0.1,7"]
    text = "".join(f"{(START_S + second) * 10**9},{cells}\n" for second, cells in enumerate(rows))
    (made.folder / "host" / "sender.csv").write_text(f"# interval_s: 1.0\n{COLUMNS}\n{text}")
    folder: Path = made.folder
    return folder


def values(host: Any, lane: str, name: str) -> list[float | None]:
    (found,) = (one for one in host.series if one["lane"] == lane and one["name"].startswith(name))
    y: list[float | None] = found["y"]
    return y


def test_counters_are_drawn_over_the_time_of_the_connection(run: Path) -> None:
    host = host_lanes(run / "packets" / "sender" / "0001-data.pcap", RECORD)
    assert [(lane["key"], lane["title"]) for lane in host.lanes] == [
        ("cpu", "CPU of the sender"), ("ena", "beyond ENA's allowances")
    ]  # fmt: skip
    assert values(host, "cpu", "in use") == [pytest.approx(20), pytest.approx(30), pytest.approx(10), None]
    assert values(host, "cpu", "steal") == [0.0, pytest.approx(10), 0.0, None]
    assert values(host, "ena", "bw out") == [0.0, 7.0, 0.0, None]
    for lane in host.lanes:
        dashes = [one["dashed"] for one in host.series if one["lane"] == lane["key"]]
        assert len(set(dashes)) == len(dashes), "grey print tells lines apart by their dashes"
    (steal,) = (one for one in host.series if one["name"].startswith("steal"))
    assert [sum(steal["ticks"][: at + 1]) * steal["step_s"] for at in range(4)] == pytest.approx([0, 0.5, 1.5, 2.0])


def test_the_counters_of_the_other_side_are_by_another_clock_and_not_drawn(run: Path) -> None:
    assert host_lanes(run / "packets" / "receiver" / "0001-data.pcap", RECORD).lanes == []


def test_cloudwatch_is_about_the_sender(run: Path) -> None:
    (run / "cloudwatch.csv").write_text(
        "start_ns,period_s,metric,dimensions,statistic,value,cumulative,delta,open\n"
        f"{START_S * 10**9},60,CPUUtilization,,Average,7,false,,false\n"
    )
    sender, receiver = (host_lanes(run / "packets" / side / "x.pcap", RECORD) for side in ("sender", "receiver"))
    assert values(sender, "cpu", "CloudWatch (60 s)") == [pytest.approx(7), None]
    assert receiver.series == []


@pytest.mark.parametrize("path", ["elsewhere/sender/x.pcap", "packets/x.pcap", "x.pcap"])
def test_a_capture_elsewhere_has_no_host(run: Path, path: str) -> None:
    assert host_lanes(run / path, RECORD) == ([], [], [])
    assert host_lanes(None, RECORD) == ([], [], [])


def test_what_cannot_be_read_is_reported(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(paths: object, side: str) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("vmtrace.analyze.reports.capture.host_lanes.read_host", fails)
    host = host_lanes(run / "packets" / "sender" / "x.pcap", RECORD)
    assert (host.lanes, host.notes) == ([], ["The counters of the sender's host cannot be read: Permission denied."])

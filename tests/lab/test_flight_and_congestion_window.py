"""What is in flight at most in a round trip is the kernel's congestion window (docs/methods.md, section 6)."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import vmtrace
from tests.lab_runs import lab_run
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.tcp_info import read_table
from vmtrace.lab.transfer import Transfer

WAY = Impairments(delay_s=0.01, rate_bps=50e6, queue_bytes=150_000, loss=0.002)
BACK = Impairments(delay_s=0.01)
LARGEST_MEDIAN_ERROR = 0.05


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("congestion_control", ["cubic", "reno"])
def test_flight_of_a_round_trip_is_the_congestion_window(tmp_path: Path, congestion_control: str) -> None:
    host = HostSettings(congestion_control)
    scenario = Scenario("window", "losses", Transfer(payload_bytes=5_000_000), WAY, BACK, host, host, seed=5)
    result = lab_run(scenario, tmp_path, attempts=3, good_enough=attrgetter("agreed"))
    trace = vmtrace.read(result.sender_pcap)
    rows = pa.table(trace.packets(1))
    time_ns, flight_bytes = rows["time_ns"].to_numpy(), rows["flight_bytes"].to_numpy(zero_copy_only=False)
    round_trip_ns = trace.json()["connections"][0]["client_to_server"]["rtt"]["mean_s"] * 1e9
    errors = []
    for sample in read_table(tmp_path / "tcp_info.sender.csv"):
        within = (time_ns > sample["time_ns"] - round_trip_ns) & (time_ns <= sample["time_ns"])
        window_bytes = sample["snd_cwnd_segments"] * sample["snd_mss_bytes"]
        # An application that has nothing more to send leaves the window unused.
        if sample["notsent_bytes"] and within.any():
            errors.append(abs(np.nanmax(flight_bytes[within].astype(float)) / window_bytes - 1))
    assert len(errors) > 50
    assert np.median(errors) < LARGEST_MEDIAN_ERROR

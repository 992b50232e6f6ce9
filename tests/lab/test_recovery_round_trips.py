"""Round trips of loss recovery: each is of the segment whose arrival made the receiver answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import vmtrace
from tests.busy_machine import Witness, too_busy
from vmtrace.lab.description import Scenario
from vmtrace.lab.fate_log import PacketFate, read_csv
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.scenario import run
from vmtrace.lab.transfer import Transfer

FORWARD = Impairments(delay_s=0.02, rate_bps=30e6, queue_bytes=400_000, loss=0.02, reorder=0.01, reorder_delay_s=0.003)
BACK = Impairments(delay_s=0.02, rate_bps=30e6, queue_bytes=400_000, loss=0.02)
HOST = HostSettings("cubic")
LOSSES = Scenario("recovery-trips", "losses both ways", Transfer(payload_bytes=4_000_000), FORWARD, BACK, HOST, HOST)
# A receiver that reports several segments at once waits for up to a millisecond (Linux tcp_comp_sack_delay_ns).
LONGEST_ANSWER_NS = 6_000_000
NEAR_S = 0.001
MS = 1_000_000


def found(fates: list[PacketFate], direction: str, row: dict[str, int]) -> PacketFate:
    """What became of a packet of the capture that got through."""
    [fate] = [
        fate
        for fate in fates
        if (fate.direction, fate.ip_id) == (direction, row["identification"])
        and fate.time_out_ns
        and abs((fate.time_in_ns if direction == "forward" else fate.time_out_ns) - row["time_ns"]) < 20 * MS
    ]
    return fate


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_what_is_sampled_arrived_just_before_its_answer_left(tmp_path: Path) -> None:
    with Witness() as witness:
        result = run(LOSSES, tmp_path, attempts=3)
    fates = [fate for fate in read_csv(tmp_path / "fates.csv.gz") if fate.source_port]
    near_s = NEAR_S + result.longest_standstill_s
    trace = vmtrace.read(result.sender_pcap)
    rows = pa.table(trace.packets(1)).to_pylist()
    by_frame = {row["frame"]: row for row in rows}
    sampled = [row for row in rows if row["recovery_rtt_s"] is not None]
    late = 0
    for row in sampled:
        sent = found(fates, "forward", by_frame[row["recovery_rtt_frame"]])
        answer = found(fates, "reverse", row)
        assert answer.time_in_ns >= sent.time_out_ns, row
        assert row["recovery_rtt_s"] == pytest.approx((answer.time_out_ns - sent.time_in_ns) / 1e9, abs=near_s), row
        late += answer.time_in_ns - sent.time_out_ns > LONGEST_ANSWER_NS
    if late and witness.stood_still_s > 0:
        too_busy(f"processors stood still for {witness.stood_still_s:.1f} s")
    assert late == 0
    counts = Counter(row["recovery_rtt_method"] for row in sampled)
    summary = trace.json()["connections"][0]["client_to_server"]["rtt"]["recovery"]
    assert counts == {"sack": summary["sack_samples"], "timestamp": summary["timestamp_samples"]}
    assert min(counts.values()) > 10, "there were losses to repair"

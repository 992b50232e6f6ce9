"""Transfers of the kinds on which verdicts were reported to be wrong have limits that are known."""

from __future__ import annotations

from pathlib import Path

from vmtrace.lab.accuracy import program_reported, programs
from vmtrace.lab.accuracy.program_commands import Ends
from vmtrace.lab.accuracy.program_transfers import ProgramTransfer


def drawn(name: str, seeds: range = range(8)) -> list[ProgramTransfer]:
    return [one for seed in seeds for one in program_reported.draw(seed) if one.name == name]


def test_a_seed_draws_the_same_transfers_again_and_all_have_names_of_their_own() -> None:
    assert [one.told for one in program_reported.draw(7)] == [one.told for one in program_reported.draw(7)]
    names = [one.name for one in programs.draw(7)]
    assert len(set(names)) == len(names) > 80


def test_a_window_of_http2_is_a_quarter_of_the_path_at_most() -> None:
    for one in [*drawn("h2-clear-window"), *drawn("h2-upload")]:
        window_bytes = 1 << int(one.told.split("-w ")[1].split()[0])
        rtt_s = one.path.forward.delay_s + one.path.reverse.delay_s
        assert 4 * window_bytes * 8 / rtt_s <= one.path.forward.rate_bps * 1.001


def test_a_reader_on_a_timer_takes_a_quarter_of_what_the_path_carries_at_most() -> None:
    for every_ms in (25, 60, 100, 200):
        for one in drawn(f"reader-{every_ms}ms"):
            words = one.client.command(Ends(Path("/run"), "198.18.1.1"))
            read, buffer = (int(words[words.index(option) + 1]) for option in ("--read-bytes", "--buffer"))
            assert 2 * min(read, buffer) * 8 / (every_ms / 1e3) <= one.path.forward.rate_bps


def test_an_outage_stops_both_directions_for_a_sixth_of_the_time_or_more() -> None:
    for one in drawn("outage-nginx"):
        (hold,) = one.path.forward.holds
        assert one.path.reverse.holds == (hold,)
        assert hold.drop
        assert hold.duration_s >= 0.15 * (hold.duration_s + one.file_bytes * 8 / one.path.forward.rate_bps) / 1.1


def test_a_bucket_of_few_packets_holds_five() -> None:
    for name in ("policer-few-packets", "policer-few-packets-slow"):
        for one in drawn(name):
            bucket = one.path.forward.token_bucket
            assert bucket is not None
            assert (bucket.burst_bytes // 1500, bucket.queue_bytes) == (5, 0)

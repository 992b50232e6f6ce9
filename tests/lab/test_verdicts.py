"""Verdicts are scored against what limits a transfer by construction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vmtrace.lab.accuracy import gap_runs, verdicts
from vmtrace.lab.accuracy.limit_truth import Witnesses
from vmtrace.lab.accuracy.verdict_runs import Labelled, draw
from vmtrace.lab.accuracy.verdicts import Judged, Tally, direction_of, measure, sections, table
from vmtrace.lab.impairments import Impairments


def verdict(factor: str, confidence: float, *candidates: str) -> dict[str, Any]:
    return {"factor": factor, "confidence": confidence, "undetermined_between": list(candidates)}


def test_a_verdict_left_open_counts_half_and_a_wrong_one_nothing() -> None:
    tally = Tally()
    tally.add("a", ("slow_start",), verdict("slow_start", 0.9))
    tally.add("b", ("slow_start",), verdict("setup", 0.5, "setup", "slow_start"))
    tally.add("c", ("slow_start",), verdict("setup", 0.7))
    tally.add("d", ("slow_start",), None)
    assert (tally.right, tally.undetermined, tally.wrong) == (1, 1, ["c", "d"])
    assert tally.score == 1.5 / 4
    assert tally.wrong_and_sure == []


def test_a_wrong_verdict_above_four_fifths_is_named() -> None:
    tally = Tally()
    tally.add("a", ("slow_start",), verdict("setup", 0.81))
    assert tally.wrong_and_sure == ["a"]


def test_any_of_the_factors_of_a_label_is_right() -> None:
    tally = Tally()
    tally.add("a", ("congestion_window", "loss_recovery"), verdict("loss_recovery", 0.9))
    assert tally.right == 1
    assert table(tally).splitlines()[-1] == "| congestion_window | 1 |"


def test_the_verdict_is_that_of_the_connection_with_most_of_the_senders_data() -> None:
    def connection(client: str, sent: int, name: str) -> dict[str, Any]:
        direction = {"payload_bytes": sent}
        return {
            "client": client,
            "client_to_server": direction,
            "server_to_client": {"payload_bytes": 10**9 - sent},
        } | {"verdict": {"factor": name}}

    document = {"connections": [connection("192.0.2.1:1", 5, "small"), connection("192.0.2.1:2", 500, "large")]}
    assert direction_of(document, "192.0.2.1")[0]["verdict"] == {"factor": "large"}
    assert direction_of(document, "192.0.2.9")[0]["verdict"] == {"factor": "small"}


@pytest.mark.parametrize("seed", range(20))
def test_drawn_transfers_have_names_of_their_own_and_a_label(seed: int) -> None:
    drawn = draw(seed, 2)
    assert len({one.name for one in drawn}) == len(drawn) == 34
    assert {one.factors[0] for one in drawn} >= {"host_stall", "token_bucket", "receiver_window", "send_buffer"}


def test_where_a_send_buffer_is_only_likely_to_limit_the_kernel_must_say_so() -> None:
    witnessed = {one.name.rpartition("-")[0] for one in draw(1, 1) if one.witnessed}
    assert witnessed == {"send_buffer_writes", "send_buffer_losses"}


def test_what_was_not_judged_is_listed_with_its_own_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(labelled: Labelled, _: Path) -> Judged:
        return Judged(labelled, Witnesses((), (), (), Impairments(), 0.01), {}, witnessed=0.25)

    monkeypatch.setattr(gap_runs, "is_there", lambda _run, folder, **_: "likely" in folder.name)
    monkeypatch.setattr(gap_runs, "load", lambda _: None)
    monkeypatch.setattr(verdicts, "judge", judged)
    wanted = [
        Labelled("likely-0", ("send_buffer",), lambda _: None, witnessed=0.6),
        Labelled("late-0", ("send_buffer",), lambda _: None),
    ]
    reasons = "likely-0 (its factor was seen for 25% of the time only), late-0 (no run to rely on)"
    assert sections(measure(wanted, tmp_path, 1))[-1] == f"Not judged: {reasons}."

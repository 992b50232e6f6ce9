"""Transfers for the score of stalls, and what is read of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import gap_runs, gap_stalls
from vmtrace.lab.accuracy.gap_runs import Made
from vmtrace.lab.accuracy.gap_stall_runs import draw
from vmtrace.lab.accuracy.study import Options
from vmtrace.lab.description import Scenario
from vmtrace.lab.impairments import Hold, Impairments
from vmtrace.lab.scenario import Run
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Transfer


def document(cause: str, side: str) -> dict[str, object]:
    gap = {"start_ns": 5, "gap_s": 0.2, "cause": cause, "confidence": 0.9, "frames": [3, 4]}
    quiet: dict[str, object] = {"spacing": {"anomalies": [], "stalls": None}}
    silent = {"spacing": {"anomalies": [gap], "stalls": 1 if "stall" in cause else None}}
    ways = {"client_to_server": quiet, "server_to_client": quiet, side: silent}
    return {"connections": [{"client": "198.18.1.1:4", "server": "198.18.2.1:5", **ways}]}


def keep(out: Path, made: Made) -> None:
    folder = out / f"{made.name}-seed1"
    folder.mkdir()
    gap_runs.save(made, folder)


@pytest.mark.parametrize(
    ("cause", "side", "status"),
    [
        ("host_or_path", "client_to_server", 0),
        ("remote_host_stall", "client_to_server", 1),
        ("local_host_stall", "server_to_client", 1),
    ],
)
def test_a_stall_told_in_either_direction_of_a_transfer_without_one_is_false(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: str, side: str, status: int
) -> None:
    captures = {"sender": tmp_path / "s.pcap", "receiver": tmp_path / "r.pcap"}
    keep(tmp_path, Made("losses", captures, "198.18.1.1", []))
    monkeypatch.setattr(gap_stalls, "analysis", lambda *_: document(cause, side))
    assert gap_stalls.study(Options(tmp_path, 1, 2, no_runs=True)).failed == bool(status)
    text = "\n".join(gap_stalls.study(Options(tmp_path, 1, 2, only="losses", no_runs=True)).lines)
    assert f"of which one is reported: {'losses-seed1' if status else 'none'}." in text
    assert "| no stall, at the sender | 0 | 0 |  |" in text
    assert "Not judged: losses-in-bursts (not made)." in text


def test_a_stall_that_is_counted_and_not_listed_stops_the_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = document("local_host_stall", "client_to_server")
    hidden = json.loads(json.dumps(shown).replace('"stalls": 1', '"stalls": 2'))
    keep(tmp_path, Made("losses", {"sender": tmp_path, "receiver": tmp_path}, "198.18.1.1", []))
    monkeypatch.setattr(gap_stalls, "analysis", lambda *_: hidden)
    with pytest.raises(RuntimeError, match="2 stalls are counted and 1 listed"):
        gap_stalls.study(Options(tmp_path, 1, no_runs=True))


@pytest.mark.parametrize(
    ("late_s", "entry_s", "problems", "enough"),
    [
        (0.011, 0.003, ["late"], True),
        (0.013, 0.003, ["late"], False),
        (0.003, 0.013, ["late"], False),
        (0.003, None, ["late", "the clock stepped"], False),
    ],
)
def test_a_path_that_stalled_for_less_than_any_stall_lasts_is_good_enough(
    late_s: float, entry_s: float | None, problems: list[str], *, enough: bool
) -> None:
    entry = None if entry_s is None else {"max_s": entry_s}
    timing = {"longest_turn_s": 0.002, "lateness": {"max_s": late_s}, "entry_after_sender_capture": entry}
    done = Run(Path(), {"good": False, "problems": problems, "late": ["late"], "timing": timing})
    assert gap_runs.no_false_stall(done) == enough


@pytest.mark.parametrize(("last_at_receiver_s", "whole"), [(1.08, True), (0.8, False)])
def test_a_guest_whose_capture_lost_its_end_is_not_relied_upon(
    tmp_path: Path, last_at_receiver_s: float, whole: bool
) -> None:
    for name, last_s in (("s", 1.0), ("r", last_at_receiver_s)):
        packets = [Ether() / IP() / TCP(), Ether() / IP() / TCP()]
        packets[0].time, packets[1].time = 0.1, last_s
        wrpcap(str(tmp_path / f"{name}.pcap"), packets)
    captures = {"sender": tmp_path / "s.pcap", "receiver": tmp_path / "r.pcap"}
    assert gap_runs.end_together(Made("guest", captures, "198.18.1.1", []), 40_000_000) == whole


def test_the_transfers_cover_both_ends_of_a_guest_and_many_kinds_without_stall() -> None:
    names = list(draw(1, 2))
    assert sum(name.startswith("guest-") for name in names) == 4
    for part in ("pauses", "turns", "short", "window", "bbr", "policer", "bloated", "losses", "held", "black"):
        assert any(part in name for name in names), part


def test_the_folder_of_a_guests_transfer_is_named_from_the_root_whatever_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReachedError(Exception):
        pass

    def joined_hosts(*arguments: object) -> None:
        raise ReachedError(arguments[-1])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(namespaces, "require", lambda: None)
    monkeypatch.setattr(gap_runs, "joined_hosts", joined_hosts)
    wanted = gap_runs.StalledGuest("guest", Impairments(), Impairments(), Stalls(1, 2, 0.1, 0.2), 1)
    with pytest.raises(ReachedError) as reached:
        gap_runs.run_stalled_guest(wanted, Path("relative"))
    assert reached.value.args == (tmp_path / "relative",)


def test_a_transfer_is_found_again_where_its_folder_has_been_moved(tmp_path: Path) -> None:
    made = Made("losses", {"sender": tmp_path / "losses-seed1/s.pcap", "receiver": Path("/r.pcap")}, "198.18.1.1", [])
    keep(tmp_path, made)
    moved = (tmp_path / "losses-seed1").rename(tmp_path / "elsewhere")
    assert gap_runs.load(moved).captures == {"sender": moved / "s.pcap", "receiver": Path("/r.pcap")}


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_a_transfer_that_its_path_makes_endless_is_refused_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.lab.scenario._TIME_LIMIT_S", 1.0)
    dead = Impairments(holds=(Hold(0, 1000, drop=True),))
    endless = Scenario("endless", "", Transfer(payload_bytes=1000), dead, dead)
    drawn = [gap_runs.Runner("endless", lambda folder: gap_runs.run_path(endless, folder))]
    assert gap_stalls.measure(drawn, Options(tmp_path, seed=1, each=1)).refused == ["endless (no run to rely on)"]

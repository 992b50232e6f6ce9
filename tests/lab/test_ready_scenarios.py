"""The ready scenarios cover what they promise, each with dice of its own."""

from __future__ import annotations

from vmtrace.lab.hosts import Topology
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.transfer import Kind

ALL = list(SCENARIOS.values())


def test_each_is_named_once_and_has_its_own_seed_and_story() -> None:
    assert all(name == scenario.name and scenario.story for name, scenario in SCENARIOS.items())
    assert len({scenario.seed for scenario in ALL}) == len(ALL)


def test_the_cut_touches_every_value_of_every_axis() -> None:
    assert {s.sender.congestion_control for s in ALL} == {"cubic", "reno", "bbr"}
    assert {0, 0.001, 0.01, 0.08} <= {s.forward.loss for s in ALL}
    assert {0.001, 0.02, 0.1} <= {round(s.forward.delay_s + s.reverse.delay_s, 6) for s in ALL}
    assert {s.topology for s in ALL} == {Topology.TUN, Topology.OFFLOAD}
    assert {s.ip_version for s in ALL} == {4, 6}
    assert {(s.sender.timestamps, s.sender.sack) for s in ALL} == {(a, b) for a in (True, False) for b in (True, False)}
    assert {s.transfer.tls for s in ALL} == {None, "1.2", "1.3"}
    assert {s.transfer.kind for s in ALL} == set(Kind)
    for impairment in ("reorder", "duplicate", "corrupt", "burst_loss", "token_bucket", "holds", "drop_packets"):
        assert any(getattr(s.forward, impairment) for s in ALL), impairment


def test_none_lasts_long() -> None:
    assert all(s.transfer.seconds <= 6 for s in ALL)

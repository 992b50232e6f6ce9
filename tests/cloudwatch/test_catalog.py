"""What is known of metrics by their names."""

import pytest

from vmtrace.cloudwatch.catalog import AGENT, EC2, agent_kind, kind_of, namespace_of


@pytest.mark.parametrize(
    ("name", "statistics", "accumulates"),
    [
        ("cpu_usage_steal", ("Average", "Maximum"), False),
        ("ethtool_bw_out_allowance_exceeded", ("Maximum",), True),
        ("ethtool_queue_0_tx_bytes", ("Maximum",), True),
        ("ethtool_conntrack_allowance_available", ("Average", "Minimum"), False),
        ("net_drop_in", ("Sum",), False),
        ("netstat_tcp_established", ("Average", "Maximum"), False),
    ],
)
def test_metrics_of_the_agent_are_known_by_prefix(name: str, statistics: tuple[str, ...], accumulates: bool) -> None:
    kind = agent_kind(name)
    assert kind is not None
    assert (kind.statistics, kind.accumulates) == (statistics, accumulates)
    assert namespace_of(name) == AGENT


def test_counts_of_ec2_are_sums_and_levels_are_not() -> None:
    for name in ("NetworkIn", "NetworkPacketsOut", "EBSReadOps", "DiskWriteBytes", "CPUCreditUsage"):
        kind = kind_of(name)
        assert kind is not None
        assert kind.statistics == ("Sum",)
    kind = kind_of("CPUUtilization")
    assert kind is not None
    assert {"Average", "Maximum"} <= set(kind.statistics)
    assert namespace_of("CPUUtilization") == EC2


def test_five_minute_metrics_are_known() -> None:
    kinds = [kind_of(name) for name in ("CPUCreditBalance", "CPUSurplusCreditsCharged", "NetworkPacketsIn")]
    assert [kind.finest_s for kind in kinds if kind] == [300, 300, 300]


def test_what_says_nothing_about_transfers_is_not_known() -> None:
    assert kind_of("mem_used_percent") is None
    assert namespace_of("mem_used_percent") is None

"""The metrics that say something about a transfer: statistics, units, finest periods, and whether they accumulate.

AWS/EC2 is known by name, because its metrics are published without being asked for and are the same for all instances.
What the CloudWatch agent publishes depends on its configuration: of that, prefixes are known.
"""

from dataclasses import dataclass

EC2 = "AWS/EC2"
AGENT = "CWAgent"
AVERAGE, MAXIMUM, MINIMUM, SUM = "Average", "Maximum", "Minimum", "Sum"
STATISTICS = (AVERAGE, MAXIMUM, MINIMUM, SUM, "SampleCount")

_BASIC_S = 300
_DETAILED_S = 60


@dataclass(frozen=True, slots=True)
class Kind:
    """How a metric is asked for and understood."""

    statistics: tuple[str, ...]
    unit: str | None
    """As CloudWatch spells it; None where the publisher does not say one for all."""
    finest_s: int
    """No shorter period has points of it."""
    follows_monitoring: bool = False
    """Its points come every minute with detailed monitoring, else every five."""
    accumulates: bool = False
    """Documented as a counter since some start; its points have the last word."""


def _ec2(statistics: tuple[str, ...], unit: str, finest_s: int = _DETAILED_S, *, follows: bool = True) -> Kind:
    return Kind(statistics, unit, finest_s, follows_monitoring=follows)


_LEVEL = (AVERAGE, MAXIMUM)
_LOW_LEVEL = (AVERAGE, MINIMUM)

EC2_METRICS: dict[str, Kind] = {
    "CPUUtilization": _ec2((AVERAGE, MAXIMUM, MINIMUM), "Percent"),
    "CPUCreditUsage": _ec2((SUM,), "Count", _BASIC_S),
    "CPUCreditBalance": _ec2(_LOW_LEVEL, "Count", _BASIC_S),
    "CPUSurplusCreditBalance": _ec2(_LEVEL, "Count", _BASIC_S),
    "CPUSurplusCreditsCharged": _ec2(_LEVEL, "Count", _BASIC_S),
    "NetworkIn": _ec2((SUM,), "Bytes"),
    "NetworkOut": _ec2((SUM,), "Bytes"),
    "NetworkPacketsIn": _ec2((SUM,), "Count", _BASIC_S),
    "NetworkPacketsOut": _ec2((SUM,), "Count", _BASIC_S),
    "DiskReadBytes": _ec2((SUM,), "Bytes"),
    "DiskReadOps": _ec2((SUM,), "Count"),
    "DiskWriteBytes": _ec2((SUM,), "Bytes"),
    "DiskWriteOps": _ec2((SUM,), "Count"),
    "EBSReadBytes": _ec2((SUM,), "Bytes"),
    "EBSReadOps": _ec2((SUM,), "Count"),
    "EBSWriteBytes": _ec2((SUM,), "Bytes"),
    "EBSWriteOps": _ec2((SUM,), "Count"),
    "EBSByteBalance%": _ec2(_LOW_LEVEL, "Percent"),
    "EBSIOBalance%": _ec2(_LOW_LEVEL, "Percent"),
    # Every minute whatever the monitoring.
    "StatusCheckFailed": _ec2((MAXIMUM,), "Count", follows=False),
    "StatusCheckFailed_AttachedEBS": _ec2((MAXIMUM,), "Count", follows=False),
    "StatusCheckFailed_Instance": _ec2((MAXIMUM,), "Count", follows=False),
    "StatusCheckFailed_System": _ec2((MAXIMUM,), "Count", follows=False),
}

# By prefix, the first that fits. The agent sends `net` as deltas, ethtool's counters as they stand; what is left of a
# connection tracking table is a level among them.
_AGENT_METRICS: tuple[tuple[str, Kind], ...] = (
    ("cpu_usage_steal", Kind(_LEVEL, "Percent", 1)),
    ("ethtool_conntrack_allowance_available", Kind(_LOW_LEVEL, None, 1)),
    ("ethtool_ena_srd_mode", Kind((MAXIMUM,), None, 1)),
    ("ethtool_ena_srd_resource_utilization", Kind(_LEVEL, None, 1)),
    ("ethtool_", Kind((MAXIMUM,), None, 1, accumulates=True)),
    ("net_drop_", Kind((SUM,), None, 1)),
    ("netstat_", Kind(_LEVEL, None, 1)),
)


def agent_kind(name: str) -> Kind | None:
    """How a metric of the agent is understood; None for one that says nothing about transfers."""
    return next((kind for prefix, kind in _AGENT_METRICS if name.startswith(prefix)), None)


def kind_of(name: str) -> Kind | None:
    """The same for any metric by its name alone."""
    return EC2_METRICS.get(name) or agent_kind(name)


def namespace_of(name: str) -> str | None:
    """Where a metric of this name is published; None for one that is not known."""
    if name in EC2_METRICS:
        return EC2
    return AGENT if agent_kind(name) else None

"""What carries out a plan, by its kind."""

from collections.abc import Callable
from typing import Any

from vmtrace.providers.kind import AVAILABILITY, BENCHMARK, LOCATIONS, PROBES, SURGE, SWEEP, CampaignPlan, Runner
from vmtrace.providers.kinds.benchmark import Benchmark
from vmtrace.providers.kinds.sampling import Sampling
from vmtrace.providers.kinds.site import Site
from vmtrace.providers.kinds.surge import Surge
from vmtrace.providers.kinds.sweep import Sweep

_RUNNERS: dict[str, Callable[[Site, Any], Runner]] = {
    BENCHMARK: Benchmark,
    PROBES: Sampling,
    SURGE: Surge,
    AVAILABILITY: Sampling,
    LOCATIONS: Sampling,
    SWEEP: Sweep,
}


def runner(plan: CampaignPlan, site: Site) -> Runner:
    """For a plan at a site."""
    return _RUNNERS[plan.kind](site, plan)

"""The contract between a campaign and the kinds of plans: a plan that is data, and a runner that does it."""

from __future__ import annotations

from typing import Any, Protocol

BENCHMARK, PROBES, SURGE, AVAILABILITY, LOCATIONS, SWEEP = (
    "benchmark", "probes", "surge", "availability", "locations", "sweep",
)  # fmt: skip
KINDS = (BENCHMARK, PROBES, SURGE, AVAILABILITY, LOCATIONS, SWEEP)


class CampaignPlan(Protocol):
    """A plan of any kind; scale is already applied."""

    @property
    def name(self) -> str:
        """Shown in reports."""

    @property
    def kind(self) -> str:
        """One of `KINDS`."""

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""

    def quick(self) -> CampaignPlan:
        """A look of a minute or two."""

    def scaled(self, factor: float) -> CampaignPlan:
        """Sizes and times multiplied."""


class Runner(Protocol):
    """Carries a plan out; the campaign sets up before and removes afterwards."""

    def run(self) -> None:
        """Do the whole plan; raises what ends the run (`KeyboardInterrupt`, `ServiceError`, `CaptureError`, ...)."""

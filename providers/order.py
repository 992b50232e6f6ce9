"""What a user asks of a run, and what is known before it begins."""

from dataclasses import dataclass, field
from pathlib import Path

from providers.budget import Limits
from providers.plan import Plan
from providers.prices import PriceTable


@dataclass(frozen=True, slots=True)
class Order:
    """The parameters of step 1 of Fig. 1 of the study. Credentials are the SDK's own business."""

    provider: str
    out: Path
    plan: Plan
    container: str | None = None
    """None: the run makes one of its own, and removes it."""
    create_container: bool = False
    endpoint_url: str | None = None
    region: str | None = None
    ca_bundle: Path | None = None
    options: dict[str, str] = field(default_factory=dict)
    interface: str | None = None
    capture: bool = True
    snaplen: int | None = None
    filter: str | None = None
    """None: what belongs to the service."""
    limits: Limits = field(default_factory=Limits)
    prices: PriceTable | None = None
    restore_timeout_s: float = 6 * 3600.0
    name: str | None = None
    command: str = ""
    metadata: bool = True
    """Whether the cloud's metadata service is asked what this host is."""

"""What a user asks of a run, and what is known before it begins."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from vmtrace.providers.budget import Limits
from vmtrace.providers.exchanges import CALL_S
from vmtrace.providers.kind import CampaignPlan
from vmtrace.providers.prices import PriceTable


class AsRecord(Protocol):
    """What `run.json` holds of a plan or a table of prices."""

    def as_record(self) -> dict[str, Any]:
        """Plain values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOrder:
    """What runs against any service have. Credentials are the SDK's own business."""

    provider: str
    out: Path
    plan: AsRecord
    endpoint_url: str | None = None
    region: str | None = None
    location: str | None = None
    """Where this host stands, by the user's word."""
    ca_bundle: Path | None = None
    options: dict[str, str] = field(default_factory=dict)
    interface: str | None = None
    capture: bool = True
    snaplen: int | None = None
    filter: str | None = None
    """None: what belongs to the service."""
    limits: Limits = field(default_factory=Limits)
    prices: AsRecord | None = None
    name: str | None = None
    command: str = ""
    metadata: bool = True
    """Whether the cloud's metadata service is asked what this host is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(ServiceOrder):
    """The parameters of step 1 of Fig. 1 of the study."""

    plan: CampaignPlan
    container: str | None = None
    """None: the run makes one of its own, and removes it."""
    create_container: bool = False
    prices: PriceTable | None = None
    restore_timeout_s: float = 6 * 3600.0
    call_s: float = CALL_S
    """How long a call may take, beside the time for what it moves."""
    resume: bool = False
    """Go on with the run of the folder instead of beginning one."""
    start_at_ns: int | None = None
    """Unix nanoseconds of the first step of a surge; None: at once."""
    after_capture: Callable[[Path], None] | None = None
    """Called, from a thread of its own, with each capture file of a long recording when it is complete."""

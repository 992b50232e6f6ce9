"""What a campaign in the lab is made of, as a value."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum

from vmtrace.lab.profiles.profile import Profile

PORT = 5810


class Host(StrEnum):
    """What the sending host is, which decides how it can stall."""

    NAMESPACE = "namespace"  # this machine's kernel, in a network namespace
    GUEST_KERNEL = "guest-kernel"  # a kernel of its own, which can be stopped


class CampaignError(RuntimeError):
    """A campaign that could not be carried out; the message is one line."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """Everything that decides a campaign. `sender_arguments` are the plan's: they go to the sender as they are."""

    profile: Profile
    seed: int
    sender_host: Host = Host.NAMESPACE
    stalls: bool = True
    offload: bool = True
    ip_version: int = 4
    congestion_control: str | None = None
    """Of all connections; None leaves it to the plan, and to the machine where the plan says nothing."""
    capture: bool = True
    sender_arguments: tuple[str, ...] = ()
    sender_program: tuple[str, ...] = (sys.executable, "-m", "vmtrace.sender")
    receiver_program: tuple[str, ...] = (sys.executable, "-m", "vmtrace.receiver")

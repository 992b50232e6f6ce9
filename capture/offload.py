"""Whether an interface hands over packets larger than the wire's: segmentation and receive offload.

A capture shows what the card cuts up later (TSO, GSO) or has joined before (GRO, LRO): the analysis must know it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from vmtrace.capture.ethtool import Ethtool


@dataclass(frozen=True)
class Offload:
    """True, false, or None where it cannot be told (`any`, an interface that is gone, no ethtool)."""

    tso: bool | None = None
    gso: bool | None = None
    gro: bool | None = None
    lro: bool | None = None

    def as_record(self) -> dict[str, bool | None]:
        """For a JSON file."""
        return asdict(self)


def read_offload(interface: str) -> Offload:
    """The settings as they are now, in the network namespace of the calling thread."""
    try:
        with Ethtool(interface) as ethtool:
            known = ethtool.offloads()
    except OSError:  # no descriptor left for the question: the capture itself has something better to say
        return Offload()
    return Offload(known.tso, known.gso, known.gro, known.lro)

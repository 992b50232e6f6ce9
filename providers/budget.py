"""What a run may use, and what it has used: asked before every request, so that the limit is never exceeded.

Counted are the bodies of HTTP in transfers, with every repeat, at the size they announce before they are sent or read;
and, for charges, all requests. Removing is never refused: what was created costs more the longer it stays.
"""

import re
import threading
from dataclasses import dataclass

from vmtrace.formats.quantities import shown_decimal_bytes
from vmtrace.providers.errors import BudgetError
from vmtrace.providers.plan import Workload
from vmtrace.providers.prices import Prices, Usage, shown_charge

_WRITING = frozenset({"PUT", "POST", "PATCH"})
# S3 and Azure charge a listing, a GET, as they charge a PUT: what tells it in their queries.
_LISTING = re.compile(r"[?&](?:list-type=|comp=list(?:&|$)|uploads(?:[=&]|$))")
# What an SDK may cut a large object into at the least (Azure's blocks), for what a transfer may need at the most.
_SMALLEST_PART_BYTES = 4 << 20
_REQUESTS_BESIDES = 4  # login, look at the container, begin and end of an upload in parts
# Storage is charged by the hour; a pair of transactions that takes longer is charged for what it took.
_LEAST_STORED_S = 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """None: no limit."""

    max_bytes: int | None = None
    max_cost: float | None = None


class Budget:
    """Hears of requests as an `exchanges.Meter`; safe for the threads of an SDK."""

    def __init__(self, limits: Limits, prices: Prices | None, currency: str = "") -> None:
        self._limits, self._prices, self._currency = limits, prices, currency
        self._lock = threading.Lock()
        self._used = Usage()
        self.removing = False
        """While objects are removed, nothing is refused."""

    @property
    def used(self) -> Usage:
        """So far."""
        return self._used

    @property
    def cost(self) -> float | None:
        """Charges so far; None where prices are unknown."""
        return self.charge(self._used)

    @property
    def charges(self) -> dict[str, float] | None:
        """Charges so far by category; None where prices are unknown."""
        return None if self._prices is None else self._prices.charges(self._used)

    def request(self, method: str, target: str = "") -> None:
        """A request is about to be sent."""
        if method == "DELETE":
            self._use(Usage(delete_requests=1))
        elif method in _WRITING or _LISTING.search(target):
            self._use(Usage(write_requests=1))
        else:
            self._use(Usage(read_requests=1))

    def upload(self, size_bytes: int) -> None:
        """A body is about to be sent."""
        self._use(Usage(uploaded_bytes=size_bytes))

    def download(self, size_bytes: int) -> None:
        """A body is about to be read."""
        self._use(Usage(downloaded_bytes=size_bytes))

    def stored(self, size_bytes: int, seconds: float) -> None:
        """So much was kept for so long."""
        with self._lock:
            self._used += Usage(stored_byte_s=size_bytes * max(seconds, _LEAST_STORED_S))

    def check_room(self, more: Usage) -> None:
        """Raise `BudgetError` unless so much more may be used."""
        self._refuse_beyond(self._used + more)

    def charge(self, usage: Usage) -> float | None:
        """What something would be charged; None where prices are unknown."""
        return None if self._prices is None else self._prices.charge(usage)

    def _use(self, more: Usage) -> None:
        with self._lock:
            used = self._used + more
            if not self.removing:
                self._refuse_beyond(used)
            self._used = used

    def _refuse_beyond(self, wanted: Usage) -> None:
        limits, used = self._limits, self._used
        used_bytes, wanted_bytes = (one.uploaded_bytes + one.downloaded_bytes for one in (used, wanted))
        if limits.max_bytes is not None and wanted_bytes > limits.max_bytes:
            raise BudgetError(
                f"--max-bytes {_exact(limits.max_bytes)} leaves no room for {_exact(wanted_bytes - used_bytes)} more "
                f"({_exact(used_bytes)} used)"
            )
        if limits.max_cost is not None and self._prices is not None:
            used_cost, wanted_cost = map(self._prices.charge, (used, wanted))
            if wanted_cost > limits.max_cost:
                raise BudgetError(
                    f"--max-cost {limits.max_cost:g} {self._currency} leaves no room for "
                    f"{shown_charge(wanted_cost - used_cost)} more ({shown_charge(used_cost)} used)"
                )


def _exact(count: int) -> str:
    """A size to the byte: a limit of 59,999 bytes that leaves no room for 60 kB must not read 60 kB."""
    return shown_decimal_bytes(count) if count < 1000 or float(f"{count:.4g}") == count else f"{count:,} bytes"


def pair_usage(workload: Workload, held_s: float) -> Usage:
    """What the upload, the download and the removal of a workload use, if nothing is repeated; of requests at most.

    `held_s`: how long the objects are stored.
    """
    parts = -(-workload.size_bytes // _SMALLEST_PART_BYTES)
    requests = workload.files * (1 if parts <= 1 else parts + 2) + _REQUESTS_BESIDES
    return Usage(
        uploaded_bytes=workload.bytes,
        downloaded_bytes=workload.bytes,
        write_requests=requests,
        read_requests=requests + workload.files,  # boto3 asks for the size first
        delete_requests=workload.files,
        stored_byte_s=workload.bytes * max(held_s, _LEAST_STORED_S),
    )

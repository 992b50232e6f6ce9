"""The RTT baseline: echoes before the campaign and before each pair, by ICMP where it works, else by TCP handshakes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Callable, Protocol

from vmtrace.capture.interruption import Interruption
from vmtrace.sender.ping import Echo, IcmpPing, TcpPing
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.wire.endpoint import Endpoint

FIRST_ECHOES = 10
ECHOES_BEFORE_A_PAIR = 3
# Each is an unauthenticated client to the receiver, which admits only so many of them from one address.
FIRST_HANDSHAKES = 3
HANDSHAKES_BEFORE_A_PAIR = 1


class Ping(Protocol):
    """A way to measure a round trip."""

    method: str

    def echo(self) -> Echo:
        """Send one echo and wait for it."""

    def close(self) -> None:
        """Give back what it holds."""


@dataclass(frozen=True)
class RoundTrips:
    """Echoes in a row; the times are None when none came back."""

    method: str
    sent: int
    lost: int
    min_s: float | None
    mean_s: float | None
    max_s: float | None

    def as_record(self) -> dict[str, Any]:
        """For `pairs.jsonl`."""
        return asdict(self)


class Baseline:
    """Measures the baseline of a run and writes each echo down."""

    def __init__(
        self,
        icmp: Callable[[], Ping] | None,
        tcp: Callable[[], Ping],
        folder: RunFolder,
        interruption: Interruption,
        interval_s: float,
    ) -> None:
        self._tcp = tcp
        self._folder = folder
        self._interruption = interruption
        self._interval_s = interval_s
        self._ping: Ping | None = None
        self._icmp = icmp

    def first(self, pair: int) -> RoundTrips:
        """Before the campaign. Where ICMP is forbidden or filtered (nothing comes back), TCP handshakes it is."""
        self._ping = self._icmp_ping()
        if self._ping is not None:
            trips = self._measure(self._ping, FIRST_ECHOES, pair)
            if trips.lost < trips.sent:
                return trips
            self._ping.close()
        self._ping = self._tcp()
        return self._measure(self._ping, FIRST_HANDSHAKES, pair)

    def before(self, pair: int) -> RoundTrips:
        """Before a pair."""
        if self._ping is None:
            return self.first(pair)
        count = ECHOES_BEFORE_A_PAIR if self._ping.method == IcmpPing.method else HANDSHAKES_BEFORE_A_PAIR
        return self._measure(self._ping, count, pair)

    def close(self) -> None:
        """Give back the socket."""
        if self._ping is not None:
            self._ping.close()

    def _icmp_ping(self) -> Ping | None:
        try:
            return None if self._icmp is None else self._icmp()
        except OSError:
            return None  # no right to it: `method` says what is used instead

    def _measure(self, ping: Ping, count: int, pair: int) -> RoundTrips:
        times_s: list[float] = []
        for number in range(count):
            if number:
                self._interruption.sleep(self._interval_s)
            with self._interruption.allowed():
                echo = ping.echo()
            self._folder.add_echo(pair, ping.method, echo.time_ns, echo.rtt_s)
            if echo.rtt_s is not None:
                times_s.append(echo.rtt_s)
        lost = count - len(times_s)
        if not times_s:
            return RoundTrips(ping.method, count, lost, None, None, None)
        return RoundTrips(ping.method, count, lost, min(times_s), sum(times_s) / len(times_s), max(times_s))


def baseline_of(
    endpoint: Endpoint, address: str, folder: RunFolder, interruption: Interruption, interval_s: float
) -> Baseline:
    """The baseline towards a receiver; `address` is the one it was reached at."""
    return Baseline(lambda: IcmpPing(endpoint, address), lambda: TcpPing(endpoint), folder, interruption, interval_s)

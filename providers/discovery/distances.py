"""Round trips to the front ends: ICMP echoes and TCP handshakes, spaced, many addresses at once.

The packets are recorded (`vmtrace.providers.recording`), and the engine measures the handshakes in them; what is
returned here is the program's own clock, which echoes are known by, and which stands in where nothing could be
recorded.
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from vmtrace.providers.discovery.side_by_side import side_by_side
from vmtrace.providers.round_trips import ICMP, TCP, Echo, icmp_rtt_s, tcp_rtt_s

_AT_ONCE = 16
_UNANSWERED_IN_A_ROW = 2


@dataclass(frozen=True, slots=True)
class Spacing:
    """How many round trips of each kind to an address, and how far apart they begin."""

    count: int = 10
    every_s: float = 0.2


class Distances:
    """Measures; remembers whether this user may send ICMP."""

    def __init__(self, port: int, spacing: Spacing, ended: threading.Event) -> None:
        self._port, self._spacing, self._ended = port, spacing, ended
        self.icmp_refused: str | None = None
        """Why this user sends no ICMP; then there are TCP handshakes alone."""

    def measure(self, addresses: Sequence[str], on_echo: Callable[[Echo], None]) -> None:
        """All addresses; `on_echo` is called by one thread at a time."""
        held = threading.Lock()

        def one(address: str) -> None:
            for echo in self._of(address):
                with held:
                    if self._ended.is_set():  # nobody keeps it any more
                        return
                    on_echo(echo)

        for _ in side_by_side(one, addresses, _AT_ONCE, self._ended):
            pass

    def _of(self, address: str) -> Iterable[Echo]:
        methods: dict[str, Callable[[str, int], float | None]] = {TCP: tcp_rtt_s, ICMP: icmp_rtt_s}
        unanswered = dict.fromkeys(methods, 0)
        for number in range(self._spacing.count):
            if self._ended.is_set() or not methods:
                return
            began_s = time.monotonic()
            for method, once in list(methods.items()):
                time_ns = time.time_ns()
                try:
                    rtt_s = once(address, self._port)
                except PermissionError as error:
                    self.icmp_refused = error.strerror or "not permitted"
                    del methods[method]
                    continue
                except OSError:  # no route, or no such family here
                    del methods[method]
                    continue
                unanswered[method] = unanswered[method] + 1 if rtt_s is None else 0
                if unanswered[method] >= _UNANSWERED_IN_A_ROW:
                    del methods[method]
                yield Echo(time_ns, address, self._port, method, rtt_s)
            if number + 1 < self._spacing.count:
                self._ended.wait(max(0.0, self._spacing.every_s - (time.monotonic() - began_s)))

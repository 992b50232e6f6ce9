"""Asking again when a service is busy: waits that double, up to a limit, each with a random part so that many do not
come back at once (exponential back-off with jitter).
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

_FIRST_S = 0.4
_LONGEST_S = 20.0
MOST_ATTEMPTS = 9
"""With these waits about a minute and a half in all."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before each further attempt. The functions are arguments so that a test need not wait."""

    sleep: Callable[[float], object] = time.sleep
    chance: Callable[[], float] = random.random
    attempts: int = MOST_ATTEMPTS

    def wait_s(self, attempt: int) -> float:
        """After the attempt of this number, from 1: at least half of what is due, the rest is left to chance."""
        due_s = min(_LONGEST_S, _FIRST_S * 2.0 ** (attempt - 1))
        return due_s * (0.5 + 0.5 * self.chance())

    def wait(self, attempt: int) -> None:
        """Wait."""
        self.sleep(self.wait_s(attempt))

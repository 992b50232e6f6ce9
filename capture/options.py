"""Values of options that several commands check alike, for `type=` of argparse."""

from __future__ import annotations

import argparse
import math
from typing import Callable


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number between these."""

    def read(text: str) -> int:
        # int() accepts more than people write, and texts of any length.
        digits = text[1:] if text[:1] in {"-", "+"} else text
        number = int(text) if digits.isdecimal() and len(digits) <= 20 else least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a whole number from {least} to {most}")
        return number

    return read


def above(least: float, most: float) -> Callable[[str], float]:
    """Reads a number above the one, and not above the other."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least < number <= most:
            raise argparse.ArgumentTypeError(f"{text}: expected a number above {least:g}, at most {most:,g}")
        return number

    return read

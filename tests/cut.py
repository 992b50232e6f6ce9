"""Further cases of a kind: CI takes the first of them, `make test-long` all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def cut(cases: Iterable[Any], kept: int) -> list[Any]:
    """The cases as parameters of a test, of which all but the first `kept` are marked `long`."""
    return [
        case if number < kept else pytest.param(*_values(case), marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)

"""The books of a campaign: the disk is asked when there is time for it."""

from types import SimpleNamespace
from typing import cast

import pytest

from vmtrace.providers.kinds.accounts import Accounts
from vmtrace.providers.kinds.site import Site


def test_notes_wait_while_something_is_due_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock_s = [0.0]
    monkeypatch.setattr("vmtrace.providers.kinds.accounts.time", SimpleNamespace(monotonic=lambda: clock_s[0]))
    noted_s: list[float] = []
    site = SimpleNamespace(
        display=SimpleNamespace(progressed=lambda _: None),
        folder=SimpleNamespace(sync=lambda: noted_s.append(clock_s[0]), note=lambda **_: None),
        observer=SimpleNamespace(front_ends=()),
        note_usage=lambda: None,
        finished=0,
        failed=0,
    )
    accounts = Accounts(cast(Site, site))
    for second in range(1, 151):
        clock_s[0] = float(second)
        accounts.look("", has_time=second < 25)
    assert noted_s == [10.0, 20.0, 80.0, 140.0]

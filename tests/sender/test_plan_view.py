"""A plan is shown before it runs."""

from __future__ import annotations

import pytest

from tests import golden_texts
from vmtrace.sender.plan import Entry, Plan, TransferPlan
from vmtrace.sender.plan_view import plan_document, plan_table
from vmtrace.sender.plans import LEE2011


def test_a_plan_is_shown_with_its_sums() -> None:
    table = plan_table(LEE2011)
    lines = table.splitlines()
    assert lines[1].split() == ["I_0", "3", "16", "KiB", "8", "MiB", "-", "25.21", "MB"]
    assert "30 pairs, 570 MB (569,966,592 bytes) of payload" in lines
    assert "45.6 s at 100 Mbit/s" in lines[-1]
    document = plan_document(LEE2011)
    assert (document["total_bytes"], document["pairs_planned"]) == (569_966_592, 30)
    assert {"rate_bps": 1e9, "duration_s": pytest.approx(4.559732736)} in document["shortest"]


def test_what_is_special_about_a_transfer_is_shown() -> None:
    entry = Entry("x", 1, TransferPlan(1), TransferPlan(2048, "both", 4, tls=True), 2.0)
    row = plan_table(Plan("p", (entry,), repeat=None, duration_s=3600.0))
    golden_texts.check("what-is-special-about-a-transfer-is-shown", row)

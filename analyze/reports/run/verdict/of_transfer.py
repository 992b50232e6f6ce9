"""A transfer's verdict of the captures at both its ends: that of the data receiver's is asked for here."""

from typing import Any

from vmtrace.analyze.read.records.run import Side, Transfer
from vmtrace.analyze.reports.run.measure import Captures, Measures, NotMeasuredError, judged_of, verdict_fields
from vmtrace.analyze.reports.run.verdict.both_sides import Facts, together
from vmtrace.analyze.reports.run.verdict.judged import of_json


def verdict_of_both(transfer: Transfer, found: Measures, captures: Captures) -> dict[str, Any]:
    """The fields of `Measures` that change when the other capture is asked, too; none if there is nothing to ask."""
    uploads = {connection.upload for connection in transfer.connections}
    if len(uploads) != 1 or found.captured_at != "data sender":
        return {}
    far_side: Side = "receiver" if uploads == {True} else "sender"
    try:
        flows = captures.find(far_side, transfer.connections, at_sender=False)
    except NotMeasuredError:
        return {}  # `two_sides_problem` tells of it
    far = judged_of([(flow, flow.trace.records([flow.connection])[0]) for flow in flows])
    made = together(of_json(found.verdict), far, _facts(found))
    return verdict_fields(made) if made is not None else {}


def _facts(found: Measures) -> Facts:
    return Facts(
        lost_segments=found.two_sides_lost_segments,
        pause_at_sender_s=found.pauses_at_sender_s or 0.0,
        pause_on_path_s=found.pauses_on_path_s or 0.0,
        pause_at_receiver_s=found.pauses_at_receiver_s or 0.0,
        pause_elsewhere_s=found.pauses_elsewhere_s or 0.0,
    )

"""vmtrace's verdicts and limiting factors on real transfers, beside what limited them: a cut of `make accuracy`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.busy_machine import too_busy
from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import gap_runs, verdict_runs, verdicts
from vmtrace.lab.accuracy.verdicts import Judged, Tally

pytestmark = pytest.mark.alone

# A limit of the receiver, of the application, of the path; their parameters are those of this seed.
SEED, KINDS = 21, ("receiver_window-0", "pieces-0", "bottleneck-0")
LEAST_TIME_RIGHT = 0.8


@pytest.fixture(scope="module", params=KINDS)
def judged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    missing = namespaces.missing_requirement()
    if missing:
        pytest.skip(missing)
    labelled = next(one for one in verdict_runs.draw(SEED, 1) if one.name == request.param)
    folder: Path = tmp_path_factory.mktemp("verdict") / labelled.name
    made = labelled.run(folder)
    if made is None:
        too_busy("no run was honest")
    gap_runs.save(made, folder)
    return verdicts.judge(labelled, folder)


def test_the_verdict_at_the_sender_is_right_or_open_and_none_is_surely_wrong(judged: Judged) -> None:
    tally = Tally()
    for seen in judged.seen.values():
        tally.add(judged.labelled.name, judged.labelled.factors, seen.verdict)
    assert (tally.all, tally.wrong_and_sure) == (len(verdicts.PLACES), [])
    shown = Tally().add(judged.labelled.name, judged.labelled.factors, judged.seen["sender"].verdict)
    assert shown in {*judged.labelled.factors, verdicts.UNDETERMINED}


def test_most_of_the_time_has_the_factor_that_kernel_and_emulator_saw(judged: Judged) -> None:
    time = judged.seen["sender"].time
    assert time.share is not None
    assert time.share >= LEAST_TIME_RIGHT, sorted(time.time_ns.items())


def test_evidence_has_three_to_ten_frames(judged: Judged) -> None:
    for seen in judged.seen.values():
        assert seen.verdict is not None
        counts = [len(evidence["frames"]) for evidence in seen.verdict["evidence"]]
        assert counts
        assert all(3 <= count <= 10 for count in counts), counts

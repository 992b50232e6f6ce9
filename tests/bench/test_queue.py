"""A short cut of the measurement of docs/queue.md: its figures, and that it holds what a busy machine can hold."""

import json
from pathlib import Path

import pytest

from bench.queue import main


@pytest.mark.slow
def test_a_short_run_is_held_to_the_proxys_truth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--server", "moto", "--rate", "20", "--duration", "3s", "--keep", str(tmp_path / "run"), "--no-capture"])
    figures = json.loads(capsys.readouterr().out)
    assert (figures["messages"], figures["delivered"], figures["proxy_delivered"]) == (60, 60, 60)
    assert figures["holds"]["accounted"]
    assert figures["holds"]["memory"]
    # Nothing is received before the proxy passed it on; how long after, a busy machine decides.
    assert all(value >= -0.002 for value in figures["latency_beyond_proxy_s"].values())
    assert set(figures["late_p99_s"]) == {"due", "free"}

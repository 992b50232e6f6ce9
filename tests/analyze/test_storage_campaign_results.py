"""What a campaign comes to, in its first sentence."""

from pathlib import Path

from tests.analyze.campaign_made import campaign_of, folder_of, request
from vmtrace.analyze.reports.storage.result import campaign_results


def test_a_step_comes_before_how_many_requests_were_done(tmp_path: Path) -> None:
    rates = [8e6 + 1e5 * (number % 7) for number in range(60)] + [4e6 + 1e5 * (number % 7) for number in range(40)]
    requests = [request(10.0 * number, rate, probe=number + 1) for number, rate in enumerate(rates)]
    step, done = campaign_results(campaign_of(folder_of(tmp_path / "run", "probes", requests)))
    assert step.startswith("throughput stepped (x 0.52) between 2007-03-27 13:03:10 and 2007-03-27 13:03:20 UTC")
    assert "1.00 MB downloads 8.30 Mbit/s to 4.30 Mbit/s" in step
    assert done == "100 of 100 requests were done: median 8.10 Mbit/s for downloads of 1.00 MB"


def test_retries_are_named_where_there_were_any(tmp_path: Path) -> None:
    asked = [request(60.0 * number, 2e6, probe=number + 1, retries=number % 2) for number in range(20)]
    (said,) = campaign_results(campaign_of(folder_of(tmp_path / "run", "availability", asked)))
    assert said.startswith("20 of 20 requests were done, 50.0 % without a retry: median 2.00 Mbit/s")


def test_nothing_is_said_of_a_campaign_without_requests(tmp_path: Path) -> None:
    assert list(campaign_results(campaign_of(folder_of(tmp_path / "run", "probes")))) == []

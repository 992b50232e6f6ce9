"""A run's numbers as custom metrics: in requests that are taken, at times that are taken, each value once."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cloudwatch.made import NS, REGION, error
from tests.cloudwatch.test_transfer_metrics import measured
from vmtrace.analyze.words import verdict
from vmtrace.cloudwatch import publishing, transfer_metrics
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.publishing import MOST_VALUES, MOST_VALUES_OF_DATUM, Published, Selection, data_of, requests_of
from vmtrace.cloudwatch.service import Account
from vmtrace.cloudwatch.transfer_metrics import Value, values_of


def value(sequence: int, time_s: float, metric: str = "goodput_bps", number: float = 1.0) -> Value:
    return Value(sequence, "I_0", "data", int(time_s * NS), metric, number)


@given(st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["goodput_bps", "loss_rate"])), max_size=3000))
def test_requests_are_in_the_limits_and_lose_no_value(drawn: list[tuple[int, str]]) -> None:
    values = [value(place, time_s, metric, float(place % 7)) for place, (time_s, metric) in enumerate(drawn)]
    data = data_of("run1", values)
    requests = list(requests_of(data))
    assert [datum for request in requests for datum in request] == data
    assert sorted(one.sequence for datum in data for one in datum.values) == list(range(len(values)))
    for request in requests:
        assert sum(len(datum.values) for datum in request) <= MOST_VALUES
    for datum in data:
        record = datum.as_record()
        assert len(record["Values"]) == len(record["Counts"]) <= MOST_VALUES_OF_DATUM
        assert sum(record["Counts"]) == len(datum.values)
        assert {one.time_ns // (60 * NS) for one in datum.values} == {int(record["Timestamp"].timestamp()) // 60}
        assert len({one.metric for one in datum.values}) == 1


def test_a_request_is_below_the_size_that_is_taken() -> None:
    long = "r" * 1000
    data = data_of(long, [value(place, 60.0 * place) for place in range(1000)])
    requests = list(requests_of(data))
    assert len(requests) > 1
    for request in requests:
        assert len(json.dumps([datum.as_record() for datum in request], default=str)) * 3 <= 1_100_000


def test_values_come_back_from_the_service(moto: Any, ec2_run: Any, command: Any, capsys: Any) -> None:
    for sequence in range(1, 4):
        ec2_run.pair(sequence, start_s=60 * sequence)
    assert command("publish", ec2_run.folder, "--endpoint-url", moto.url, "--detailed") == 0
    said = capsys.readouterr()
    assert (
        "24 values published as 24 data points in 1 requests, 8 custom metrics: namespace vmtrace in eu-west-1"
        in said.out
    )
    assert said.err.startswith("vmtrace: 8 custom metrics, each charged by AWS for the hours in which it has values:")
    assert "at most 2.40 USD a month" in said.err
    dimensions = [
        {"Name": "run", "Value": "run1"},
        {"Name": "index", "Value": "I_0"},
        {"Name": "part", "Value": "data"},
    ]
    answer = moto.client().get_metric_statistics(
        Namespace="vmtrace",
        MetricName="goodput_bps",
        Dimensions=dimensions,
        StartTime=ec2_run.start_ns / 1e9,
        EndTime=ec2_run.end_ns / 1e9,
        Period=60,
        Statistics=["Sum"],
    )
    points = sorted(answer["Datapoints"], key=lambda point: point["Timestamp"])
    assert [point["Sum"] for point in points] == [2e6] * 3
    assert points[0]["Timestamp"].timestamp() == ec2_run.start_ns / NS + 60


def test_what_limited_comes_back_as_a_mean_share_of_each_factor_over_all_transfers(
    moto: Any, ec2_run: Any, command: Any, capsys: Any
) -> None:
    limits = ({"receiver_window": [3.0, 900], "setup": [1.0, 100]}, {"slow_start": [2.0, 50], "idle": [2.0, 70]})
    verdicts = (("receiver_window", 0.9), ("slow_start", 0.5))
    rows = []
    for sequence, (limit, (factor, confidence)) in enumerate(zip(limits, verdicts, strict=True), 1):
        ec2_run.pair(sequence, start_s=sequence)
        found = {"verdict_factor": factor, "verdict_confidence": confidence, "limits": json.dumps(limit)}
        rows.append({"sequence": sequence, "role": "data", "key": "k", **found})
    measured(ec2_run.folder, *rows)
    assert command("publish", ec2_run.folder, "--endpoint-url", moto.url, "--detailed") == 0
    assert "custom metrics" in capsys.readouterr().out

    def told(metric: str, factor: str | None) -> dict[str, Any] | None:
        names = {"run": "run1", "part": "data"} | ({"factor": factor} if factor else {})
        answer = moto.client().get_metric_statistics(
            Namespace="vmtrace",
            MetricName=metric,
            Dimensions=[{"Name": name, "Value": value} for name, value in names.items()],
            StartTime=ec2_run.start_ns / 1e9,
            EndTime=ec2_run.end_ns / 1e9,
            Period=3600,
            Statistics=["Average", "Sum"],
        )
        return next(iter(answer["Datapoints"]), None)

    assert (told("limited_time_share", "receiver_window") or {})["Average"] == pytest.approx(0.75 / 2)
    assert (told("limited_time_share", "slow_start") or {})["Average"] == pytest.approx(0.5 / 2)
    assert (told("lost_share", "receiver_window") or {})["Average"] == pytest.approx(0.9 / 2)
    assert (told("lost_share", "slow_start") or {})["Average"] == pytest.approx(1 / 2), "waiting loses nothing"
    assert told("limited_time_share", "idle") is None
    assert (told("verdict", "receiver_window") or {})["Sum"] == 1
    assert (told("verdict", "undetermined") or {})["Sum"] == 1
    assert told("verdict", "slow_start") is None, "undecided, it is nobody's"
    assert (told("verdict_confidence", None) or {})["Average"] == pytest.approx(0.7)


def test_verdicts_can_be_left_out_because_each_factor_is_a_custom_metric_more(
    ec2_run: Any, command: Any, capsys: Any
) -> None:
    ec2_run.pair(1)
    limits = json.dumps({"setup": [1.0, 5], "slow_start": [1.0, 5]})
    found = {"verdict_factor": "setup", "verdict_confidence": 0.9, "limits": limits}
    measured(ec2_run.folder, {"sequence": 1, "role": "data", "key": "k", **found})
    metrics = []
    for more in (("--detailed",), (), ("--no-verdict",)):
        assert command("publish", ec2_run.folder, "--dry-run", "--json", *more) == 0
        metrics.append(json.loads(capsys.readouterr().out)["metrics"])
    assert metrics == [8 + 2 * 2 + 2, 8 + 2 + 1, 8]


def test_a_run_is_at_most_40_custom_metrics_whatever_its_plan_and_its_factors(
    ec2_run: Any, command: Any, capsys: Any
) -> None:
    rows = []
    factors = [f"factor_{number}" for number in range(14)]
    for sequence in range(1, 41):
        ec2_run.pair(sequence, start_s=10 * sequence, index=f"I_{sequence % 10}")
        for role in ("probe", "data"):
            limits = {factor: [1.0 + place, 10] for place, factor in enumerate(factors)}
            found = {"verdict_factor": factors[0], "verdict_confidence": 0.9, "limits": json.dumps(limits)}
            numbers = dict.fromkeys(transfer_metrics._OF_PACKETS, 0.25)
            rows.append({"sequence": sequence, "role": role, "key": "k", **found, **numbers})
    measured(ec2_run.folder, *rows)
    assert command("publish", ec2_run.folder, "--dry-run", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metrics"] == 40
    names = [{one["Name"]: one["Value"] for one in datum["Dimensions"]} for datum in document["data"]]
    assert not any("index" in one for one in names)
    named = {one["factor"] for one in names if "factor" in one}
    assert named == {"other", *factors[5:]}, "those that limited longest have their names"
    shares: dict[str, float] = {}
    for datum in document["data"]:
        if datum["MetricName"] == "limited_time_share":
            (factor,) = (one["Value"] for one in datum["Dimensions"] if one["Name"] == "factor")
            weighed = sum(v * c for v, c in zip(datum["Values"], datum["Counts"], strict=True))
            shares[factor] = shares.get(factor, 0.0) + weighed
    assert sum(shares.values()) == pytest.approx(40), "nothing is lost of the whole"
    assert command("publish", ec2_run.folder, "--dry-run") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20 + 3
    assert lines[20].startswith("... and ")
    assert "40 custom metrics" in lines[21]


@pytest.mark.parametrize("limits", ["[]", "nonsense", '{"setup": 3}', '{"setup": ["a", 1]}', '{"setup": [0, 0]}', None])
def test_limits_that_make_no_sense_are_no_values(new_run: Any, limits: str | None) -> None:
    run = new_run()
    run.pair(1)
    row = {"sequence": 1, "role": "data", "key": "k", "verdict_confidence": 0.9, "verdict_factor": None}
    measured(run.folder, row | {"limits": limits})
    assert {value.metric for value in values_of(run.folder, [])} == {
        "goodput_bps", "ping_mean_s", "kernel_min_rtt_s", "kernel_retransmission_rate",
    }  # fmt: skip


def test_the_confidence_below_which_a_verdict_is_open_is_that_of_the_analysis() -> None:
    assert transfer_metrics._LEAST_CONFIDENCE == verdict.LEAST_CONFIDENCE


def test_a_value_is_put_once_unless_again(moto: Any, ec2_run: Any, command: Any, capsys: Any) -> None:
    ec2_run.pair(1)
    command("publish", ec2_run.folder, "--endpoint-url", moto.url)
    ec2_run.pair(2, start_s=20)
    capsys.readouterr()
    assert command("publish", ec2_run.folder, "--endpoint-url", moto.url, "--json") == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["values"] == 8
    assert "8 values were published before" in shown.err
    assert command("publish", ec2_run.folder, "--endpoint-url", moto.url, "--json", "--again") == 0
    assert json.loads(capsys.readouterr().out)["values"] == 16
    assert command("publish", ec2_run.folder, "--endpoint-url", moto.url) == 0
    assert "charged by AWS" not in capsys.readouterr().err, "nothing is put, and nothing charged"
    assert (ec2_run.folder / "cloudwatch.published.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_dry_run_asks_no_service_and_puts_nothing(
    scripted: Any, ec2_run: Any, command: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    ec2_run.pair(1)
    assert command("publish", ec2_run.folder, "--endpoint-url", scripted.url, "--dry-run") == 0
    out = capsys.readouterr().out
    assert "goodput_bps run=run1 part=data 2e+06 Bits/Second" in out
    assert "8 values would be published" in out
    assert scripted.asked == []
    assert not (ec2_run.folder / "cloudwatch.published.jsonl").exists()


def test_values_older_than_two_weeks_are_refused(moto: Any, new_run: Any, command: Any, capsys: Any) -> None:
    run = new_run(start_s=int(time.time()) - 15 * 86_400).facts()
    run.pair(1)
    with pytest.raises(CloudWatchError, match=r"8 values are of before .+: CloudWatch takes none older than two weeks"):
        command("publish", run.folder, "--endpoint-url", moto.url)
    run.pair(2, start_s=14 * 86_400)
    assert command("publish", run.folder, "--endpoint-url", moto.url, "--json") == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out)["values"] == 8
    assert "none older than two weeks" in shown.err


def test_times_of_a_wrong_clock_are_refused(new_run: Any, command: Any) -> None:
    run = new_run(start_s=int(time.time()) + 3 * 3600).facts()
    run.pair(1)
    with pytest.raises(CloudWatchError, match="more than two hours in the future"):
        command("publish", run.folder, "--dry-run")


def test_a_run_without_pairs_has_nothing_to_publish(ec2_run: Any, command: Any) -> None:
    with pytest.raises(CloudWatchError, match="no complete pair: there is nothing to publish"):
        command("publish", ec2_run.folder, "--dry-run")


def test_what_was_put_before_the_service_failed_is_not_put_again(
    scripted: Any, ec2_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.cloudwatch.publishing.MOST_VALUES", 4)
    ec2_run.pair(1)
    ec2_run.pair(2, start_s=60)
    scripted.answers = [(200, {}), (200, {}), error("Throttling"), (200, {}), error("AccessDenied")]
    with pytest.raises(
        CloudWatchError, match=f"PutMetricData in {REGION}: these credentials may not do cloudwatch:PutMetricData"
    ):
        command("publish", ec2_run.folder, "--endpoint-url", scripted.url)
    scripted.answers = [(200, {})]
    scripted.asked.clear()
    assert command("publish", ec2_run.folder, "--endpoint-url", scripted.url, "--quiet") == 0
    assert len(scripted.asked) == 1


def test_metrics_beyond_the_first_10_000_are_charged_less() -> None:
    def charged(metrics: int) -> float:
        data = data_of("run", [replace(value(place, 0.0), index=f"I_{place}") for place in range(metrics)])
        return Published(tuple(data), 1, None, (), ()).most_usd_a_month

    assert charged(10) == pytest.approx(3.0)
    assert charged(10_100) == pytest.approx(3000 + 10)


def test_the_charge_is_announced_before_the_first_value_is_put(ec2_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ec2_run.pair(1, start_s=60)
    order: list[str] = []

    class Refusing:
        region = "eu-west-1"

        def ask(self, operation: str, _request: object) -> object:
            order.append(operation)
            return {}

    monkeypatch.setattr(publishing, "open_service", lambda *_arguments: Refusing())
    publishing.publish_run(ec2_run.folder, Account(), order.append, Selection(), lambda _: order.append("announced"))
    assert order[0] == "announced"
    assert order[1] == "put_metric_data"

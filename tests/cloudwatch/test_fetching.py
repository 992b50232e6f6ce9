"""From a run folder to RUN/cloudwatch.json and RUN/cloudwatch.csv: against moto's server, and one that is told."""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cloudwatch.made import ACCESS_KEY, INSTANCE, NS, REGION, SECRET_KEY, TOKEN, error, result, rows
from vmtrace.cloudwatch import periods
from vmtrace.cloudwatch.errors import CloudWatchError


def of(folder: Path, metric: str, statistic: str | None = None) -> list[dict[str, str]]:
    return [row for row in rows(folder) if row["metric"] == metric and statistic in (None, row["statistic"])]


def fill(moto: Any, start_ns: int) -> None:
    """Half an hour with detailed monitoring."""
    moto.put("CPUUtilization", [float(value) for value in range(30)], start_ns)
    moto.put("NetworkOut", [1000.0] * 30, start_ns)
    moto.put("NetworkPacketsOut", [10.0] * 6, start_ns, step_s=300)


def test_metrics_are_in_the_table_with_the_start_of_their_periods(moto: Any, ec2_run: Any, command: Any) -> None:
    fill(moto, ec2_run.start_ns)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url) == 0
    found = of(ec2_run.folder, "CPUUtilization", "Average")
    assert [int(row["start_ns"]) for row in found] == [ec2_run.start_ns + place * 60 * NS for place in range(30)]
    assert [float(row["value"]) for row in found] == list(range(30))
    first = found[0]
    assert (first["period_s"], first["namespace"], first["unit"]) == ("60", "AWS/EC2", "Percent")
    assert (first["dimensions"], first["cumulative"], first["open"]) == (f"InstanceId={INSTANCE}", "false", "false")
    assert {row["period_s"] for row in of(ec2_run.folder, "NetworkPacketsOut")} == {"300"}
    assert {row["statistic"] for row in of(ec2_run.folder, "NetworkOut")} == {"Sum"}


def test_metrics_outside_of_the_run_and_its_margin_are_not_fetched(moto: Any, ec2_run: Any, command: Any) -> None:
    moto.put("CPUUtilization", [1.0] * 90, ec2_run.start_ns - 3600 * NS)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--margin", "600") == 0
    starts_ns = [int(row["start_ns"]) for row in of(ec2_run.folder, "CPUUtilization", "Average")]
    assert min(starts_ns) == ec2_run.start_ns - 600 * NS
    assert max(starts_ns) < ec2_run.end_ns


@pytest.mark.parametrize(("step_s", "monitoring"), [(60, "detailed"), (300, "basic")])
def test_detailed_and_basic_monitoring_are_shown_by_the_data(
    moto: Any, ec2_run: Any, command: Any, capsys: Any, step_s: int, monitoring: str
) -> None:
    moto.put("CPUUtilization", [5.0] * (1800 // step_s), ec2_run.start_ns, step_s=step_s)
    moto.put("StatusCheckFailed", [0.0] * 30, ec2_run.start_ns)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--json") == 0
    assert json.loads(capsys.readouterr().out)["monitoring"] == monitoring
    assert {row["period_s"] for row in of(ec2_run.folder, "CPUUtilization")} == {str(step_s)}
    assert {row["period_s"] for row in of(ec2_run.folder, "StatusCheckFailed")} == {"60"}


def test_the_agent_s_counters_are_cumulative_with_deltas_and_its_levels_are_not(
    moto: Any, ec2_run: Any, command: Any
) -> None:
    start_ns = ec2_run.start_ns
    moto.put("CPUUtilization", [5.0] * 30, start_ns)
    counter = [1000.0 + 10 * place for place in range(20)] + [5.0 * place for place in range(10)]
    agent = {"namespace": "CWAgent", "interface": "eth0", "driver": "ena"}
    moto.put("ethtool_bw_out_allowance_exceeded", counter, start_ns, **agent)
    moto.put("ethtool_conntrack_allowance_available", [float(1000 - place) for place in range(30)], start_ns, **agent)
    moto.put("cpu_usage_steal", [0.25] * 30, start_ns, namespace="CWAgent", cpu="cpu-total")
    moto.put("net_drop_in", [2.0] * 30, start_ns, namespace="CWAgent", interface="eth0")
    moto.put("mem_used_percent", [2.0] * 30, start_ns, namespace="CWAgent")
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url) == 0
    found = of(ec2_run.folder, "ethtool_bw_out_allowance_exceeded")
    assert {row["cumulative"] for row in found} == {"true"}
    assert [row["delta"] for row in found] == ["", *["10"] * 19, "", *["5"] * 9]
    assert found[0]["dimensions"] == f"InstanceId={INSTANCE};driver=ena;interface=eth0"
    for name in ("ethtool_conntrack_allowance_available", "cpu_usage_steal", "net_drop_in"):
        assert {(row["cumulative"], row["delta"]) for row in of(ec2_run.folder, name)} == {("false", "")}
    assert of(ec2_run.folder, "mem_used_percent") == []


def test_raw_answers_and_table_are_for_their_owner_and_say_where_they_come_from(
    moto: Any, ec2_run: Any, command: Any
) -> None:
    fill(moto, ec2_run.start_ns)
    command("fetch", ec2_run.folder, "--endpoint-url", moto.url)
    for name in ("cloudwatch.json", "cloudwatch.csv"):
        assert (ec2_run.folder / name).stat().st_mode & 0o777 == 0o600
    document = json.loads((ec2_run.folder / "cloudwatch.json").read_text())
    (fetch,) = document["fetches"]
    assert (document["schema"], fetch["instance_id"], fetch["region"]) == ("vmtrace.cloudwatch/1", INSTANCE, REGION)
    assert [exchange["operation"] for exchange in fetch["exchanges"]] == ["ListMetrics", "ListMetrics", "GetMetricData"]
    assert len(fetch["exchanges"][-1]["response"]["MetricDataResults"]) == len(
        fetch["exchanges"][-1]["request"]["MetricDataQueries"]
    )
    header = [line for line in (ec2_run.folder / "cloudwatch.csv").read_text().splitlines() if line.startswith("# ")]
    keys = [line[2:].partition(":")[0] for line in header]
    assert keys[:4] == ["schema", "vmtrace", "host", "kernel"]
    assert f"# instance_id: {INSTANCE}" in header


def test_credentials_are_in_no_file_and_no_output(
    scripted: Any, ec2_run: Any, command: Any, capfd: Any, caplog: Any
) -> None:
    def echo(operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        seen = f"{SECRET_KEY} {TOKEN} {ACCESS_KEY} {scripted.raw[-1]}"  # what no honest server sends back
        if operation == "ListMetrics":
            return error("AccessDenied", f"you said {seen}")
        message = [{"Code": "Echo", "Value": seen}]
        start_s = ec2_run.start_ns // NS
        results = [
            result(one["Id"], {start_s + 60: 1.0}, Label=seen, Messages=message) for one in request["MetricDataQueries"]
        ]
        return 200, {"MetricDataResults": results, "Messages": message}

    scripted.decide = echo
    assert command("fetch", ec2_run.folder, "--endpoint-url", scripted.url) == 1
    assert ACCESS_KEY in scripted.raw[-1]  # the request was signed with it
    assert TOKEN in scripted.raw[-1]
    shown = capfd.readouterr()
    texts = [shown.out, shown.err, caplog.text]
    texts += [path.read_text() for path in ec2_run.folder.rglob("*") if path.is_file()]
    for text in texts:
        for secret in (ACCESS_KEY, SECRET_KEY, TOKEN):
            assert secret not in text


def test_a_fetch_adds_to_what_was_fetched_before(moto: Any, ec2_run: Any, command: Any) -> None:
    moto.put("CPUUtilization", [1.0] * 10, ec2_run.start_ns)
    command("fetch", ec2_run.folder, "--endpoint-url", moto.url)
    moto.reset()  # the first points are gone from the service, as they are after 15 days
    moto.put("CPUUtilization", [2.0] * 10, ec2_run.start_ns + 300 * NS)
    command("fetch", ec2_run.folder, "--endpoint-url", moto.url)
    values = [row["value"] for row in of(ec2_run.folder, "CPUUtilization", "Average")]
    assert values == ["1"] * 5 + ["2"] * 10
    assert len(json.loads((ec2_run.folder / "cloudwatch.json").read_text())["fetches"]) == 2


def test_a_fetch_without_any_point_says_what_to_check_and_changes_nothing(
    moto: Any, ec2_run: Any, command: Any
) -> None:
    moto.put("CPUUtilization", [1.0] * 10, ec2_run.start_ns)
    command("fetch", ec2_run.folder, "--endpoint-url", moto.url)
    before = (ec2_run.folder / "cloudwatch.json").read_bytes()
    other = "i-0aaaaaaaaaaaaaaaa"
    with pytest.raises(CloudWatchError, match=rf"no metrics of {other} between .+ and .+: is it the right instance"):
        command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--instance-id", other, "--region", REGION)
    with pytest.raises(CloudWatchError, match=r"CloudWatch in us-west-2 has no metrics"):
        command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--region", "us-west-2")
    assert (ec2_run.folder / "cloudwatch.json").read_bytes() == before


def test_a_run_that_is_on_no_instance_asks_for_one(new_run: Any, command: Any) -> None:
    run = new_run()
    with pytest.raises(CloudWatchError, match=r"no instance id of neither side .+ give --instance-id"):
        command("fetch", run.folder)
    run.facts("receiver", "i-0bbbbbbbbbbbbbbbb")
    with pytest.raises(CloudWatchError, match="no instance id of the sender"):
        command("fetch", run.folder, "--side", "sender")


def test_the_side_decides_whose_metrics(moto: Any, ec2_run: Any, command: Any, capsys: Any) -> None:
    ec2_run.facts("receiver", "i-0bbbbbbbbbbbbbbbb")
    moto.put("CPUUtilization", [1.0] * 10, ec2_run.start_ns, InstanceId="i-0bbbbbbbbbbbbbbbb")
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--side", "receiver", "--json") == 0
    assert json.loads(capsys.readouterr().out)["instance_id"] == "i-0bbbbbbbbbbbbbbbb"


def test_open_periods_are_marked_with_no_wait(
    moto: Any, new_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    minute_s = int(time.time()) // 60 * 60
    # The clock stands in the middle of a minute: its turn would close the last period meanwhile.
    monkeypatch.setattr("vmtrace.cloudwatch.fetching.time.time_ns", lambda: (minute_s + 30) * NS)
    run = new_run(start_s=minute_s - 900, length_s=840).facts()
    moto.put("CPUUtilization", [1.0] * 15, run.start_ns)
    assert command("fetch", run.folder, "--endpoint-url", moto.url, "--no-wait") == 0
    assert "the last periods are open until" in capsys.readouterr().err
    marks = [row["open"] for row in of(run.folder, "CPUUtilization", "Average")]
    assert marks == sorted(marks)
    assert (marks[0], marks[-1]) == ("false", "true")


def test_open_periods_are_waited_for(
    moto: Any, new_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    run = new_run(start_s=int(time.time()) - 900, length_s=840).facts()
    moto.put("CPUUtilization", [1.0] * 15, run.start_ns // (60 * NS) * 60 * NS)
    closed_ns = periods.plan(run.start_ns, run.end_ns, time.time_ns(), None, 1800).closed_ns()
    assert closed_ns >= run.end_ns + 2 * 300 * NS
    slept: list[float] = []
    real_ns, real_s = time.time_ns, time.monotonic

    def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("vmtrace.cloudwatch.fetching.time.sleep", sleep)
    monkeypatch.setattr("vmtrace.cloudwatch.fetching.time.time_ns", lambda: real_ns() + int(sum(slept) * NS))
    monkeypatch.setattr("vmtrace.cloudwatch.progress.time.monotonic", lambda: real_s() + sum(slept))
    assert command("fetch", run.folder, "--endpoint-url", moto.url) == 0
    assert real_ns() + sum(slept) * NS >= closed_ns
    assert max(slept) <= 1.0
    shown = capsys.readouterr().err
    assert "until" in shown
    assert "--no-wait" in shown
    assert {row["open"] for row in of(run.folder, "CPUUtilization", "Average")} == {"false"}


def test_a_run_without_an_end_is_fetched_up_to_its_last_pair(
    moto: Any, ec2_run: Any, command: Any, capsys: Any
) -> None:
    ec2_run.state.update(end_ns=None, status="running")
    ec2_run.save()
    ec2_run.pair(1, start_s=600)
    fill(moto, ec2_run.start_ns)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url) == 0
    assert "the run has no end" in capsys.readouterr().err
    starts_ns = [int(row["start_ns"]) for row in of(ec2_run.folder, "CPUUtilization", "Average")]
    assert max(starts_ns) == ec2_run.start_ns + 840 * NS  # the five minutes in which the pair ended


def test_retention_is_named_for_an_old_run(moto: Any, new_run: Any, command: Any, capsys: Any) -> None:
    run = new_run(start_s=int(time.time()) // 3600 * 3600 - 100 * 86_400).facts()
    moto.put("CPUUtilization", [1.0, 2.0], run.start_ns)
    assert command("fetch", run.folder, "--endpoint-url", moto.url) == 0
    shown = capsys.readouterr().err
    assert "points of 60 s are kept for 15 days, and the run began 100.0 days ago" in shown
    assert "not listed when without points for 14 days" in shown
    assert {row["period_s"] for row in rows(run.folder)} == {"3600"}


def test_listing_that_is_denied_leaves_the_instance_s_metrics_and_status_1(
    scripted: Any, ec2_run: Any, command: Any, capsys: Any
) -> None:
    def decide(operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        if operation == "ListMetrics":
            return error("AccessDeniedException", "User is not authorized")
        start_s = ec2_run.start_ns // NS
        return 200, {"MetricDataResults": [result(one["Id"], {start_s: 1.0}) for one in request["MetricDataQueries"]]}

    scripted.decide = decide
    assert command("fetch", ec2_run.folder, "--endpoint-url", scripted.url) == 1
    assert "may not do cloudwatch:ListMetrics" in capsys.readouterr().err
    assert of(ec2_run.folder, "NetworkIn")


def test_what_came_before_the_service_failed_is_kept(
    scripted: Any, ec2_run: Any, command: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.cloudwatch.queries.MOST_QUERIES", 5)

    def decide(operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        if operation == "ListMetrics":
            return 200, {"Metrics": []}
        if len(scripted.asked) > 4:
            return error("ExpiredToken", "The security token included in the request is expired")
        start_s = ec2_run.start_ns // NS
        return 200, {"MetricDataResults": [result(one["Id"], {start_s: 1.0}) for one in request["MetricDataQueries"]]}

    scripted.decide = decide
    assert command("fetch", ec2_run.folder, "--endpoint-url", scripted.url) == 1
    assert "the credentials have expired" in capsys.readouterr().err
    assert of(ec2_run.folder, "CPUUtilization")


def test_ctrl_c_keeps_what_came(scripted: Any, ec2_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.cloudwatch.queries.MOST_QUERIES", 5)
    start_s = ec2_run.start_ns // NS

    def decide(operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        if operation == "ListMetrics":
            return 200, {"Metrics": []}
        return 200, {"MetricDataResults": [result(one["Id"], {start_s: 1.0}) for one in request["MetricDataQueries"]]}

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    scripted.decide = decide
    monkeypatch.setattr("vmtrace.cloudwatch.progress.Progress.__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        command("fetch", ec2_run.folder, "--endpoint-url", scripted.url)
    assert of(ec2_run.folder, "CPUUtilization")


def test_sigterm_keeps_what_came_though_the_service_drips(
    scripted: Any, ec2_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.cloudwatch.queries.MOST_QUERIES", 5)
    start_s = ec2_run.start_ns // NS
    over = threading.Event()

    def decide(operation: str, request: dict[str, Any]) -> tuple[int, Any]:
        if operation == "ListMetrics":
            return 200, {"Metrics": []}
        if len(scripted.asked) > 3:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
            over.wait(30)
        return 200, {"MetricDataResults": [result(one["Id"], {start_s: 1.0}) for one in request["MetricDataQueries"]]}

    scripted.decide = decide
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        command("fetch", ec2_run.folder, "--endpoint-url", scripted.url)
    assert time.monotonic() - began_s < 25
    over.set()
    assert of(ec2_run.folder, "CPUUtilization")


def test_a_run_that_ends_in_the_future_is_refused(new_run: Any, command: Any) -> None:
    run = new_run(start_s=int(time.time()) + 3600).facts()
    with pytest.raises(CloudWatchError, match=r"the run ends 5,[0-9]{3} s after now: the sender's clock"):
        command("fetch", run.folder)


def test_the_table_is_read_as_the_other_tables_of_a_run_are(moto: Any, ec2_run: Any, command: Any) -> None:
    from vmtrace.formats.provenance import read_table

    fill(moto, ec2_run.start_ns)
    command("fetch", ec2_run.folder, "--endpoint-url", moto.url)
    table = read_table(ec2_run.folder / "cloudwatch.csv", "vmtrace.cloudwatch_table/1")
    assert len(table.rows) == len(rows(ec2_run.folder))
    assert table.columns[:3] == ("start_ns", "period_s", "metric")

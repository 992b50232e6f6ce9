"""Reports on a part of a run's time: what began within is in them, what did not is left out and said."""

import json
from pathlib import Path
from typing import Any

from tests.analyze.campaign_made import START_NS as CAMPAIGN_NS
from tests.analyze.campaign_made import campaign_of, folder_of, request
from tests.analyze.discovery_made import LAUSANNE
from tests.analyze.discovery_made import START_NS as DISCOVERY_NS
from tests.analyze.discovery_made import MadeRun as MadeDiscovery
from tests.analyze.queues_made import Made, at, stage
from tests.analyze.swarm_made import MadeSwarm
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run
from vmtrace.analyze.reports.queues.fates import accounts
from vmtrace.analyze.reports.queues.rates import call_rows
from vmtrace.analyze.reports.queues.run_folder import read_queue_run
from vmtrace.analyze.reports.storage.campaign import measure_campaign
from vmtrace.analyze.reports.storage.run_folder import read_storage_run
from vmtrace.analyze.reports.swarm.run_folder import read_swarm_run

S_NS = 10**9


def test_the_first_instant_is_within_and_the_last_is_not() -> None:
    window = Window(10, 20)
    assert [window.holds(time) for time in (9, 10, 19, 20, None)] == [False, True, True, False, False]
    assert ALL_TIME.holds(None)
    assert not ALL_TIME
    assert window.of([5, 10, 15, 25], lambda one: one) == (10, 15)
    assert Window(from_ns=10).of([5, 10, 15], lambda one: one) == (10, 15)
    assert Window(until_ns=10).of([5, 10, 15], lambda one: one) == (5,)


def test_what_was_left_out_is_said() -> None:
    window = Window(1_795_000_000 * S_NS, 1_795_003_600 * S_NS)
    assert window.said(2, 1234, "pair") == [
        "only what began from 2026-11-18 11:06:40.000 UTC until 2026-11-18 12:06:40.000 UTC: 2 of 1,234 pairs"
    ]
    assert ALL_TIME.said(2, 2, "pair") == []


def test_pairs_of_a_campaign(small_run: Any) -> None:
    every = read_run(small_run.folder)
    starts = [pair.start_ns or 0 for pair in every.pairs]
    run = read_run(small_run.folder, Window(starts[2], starts[5]))
    assert [pair.sequence for pair in run.pairs] == [3, 4, 5]
    assert run.problems[0].endswith(": 3 of 8 pairs")
    assert read_run(small_run.folder, ALL_TIME) == every


def test_requests_of_a_storage_campaign_with_their_retries(tmp_path: Path) -> None:
    rows = [request(60.0 * n, 8e6, retries=1, retry_causes={"503": 1}) for n in range(10)]
    folder = folder_of(tmp_path / "probes", "probes", rows)
    window = Window(CAMPAIGN_NS + 120 * S_NS, CAMPAIGN_NS + 300 * S_NS)
    campaign = measure_campaign(read_storage_run(folder, window))
    assert campaign is not None
    assert campaign.requests is not None
    assert ((campaign.requests.start_ns - CAMPAIGN_NS) // (60 * S_NS)).tolist() == [2, 3, 4]
    assert campaign.requests.retry_causes == {("download", "503"): 3}
    assert campaign.problems[0].endswith(": 3 of 10 requests")
    assert len(campaign_of(folder).requests or ()) == 10


def test_steps_of_a_sweep(tmp_path: Path) -> None:
    steps = [
        {"step": n, "connections": 1, "part_bytes": 1, "parts": 1, "bytes": 1, "start_ns": CAMPAIGN_NS + n * S_NS,
         "end_ns": CAMPAIGN_NS + (n + 1) * S_NS, "outcome": "done", "duration_s": 1.0}
        for n in range(1, 5)
    ]  # fmt: skip
    folder = folder_of(tmp_path / "sweep", "sweep", steps=steps)
    campaign = measure_campaign(read_storage_run(folder, Window(from_ns=CAMPAIGN_NS + 3 * S_NS)))
    assert campaign is not None
    assert [step.number for step in campaign.sweep_steps] == [3, 4]


def test_transactions_of_a_benchmark_with_their_objects(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"schema": "vmtrace.storage_run/1", "status": "complete"}))
    for name, more in (("transactions", {"direction": "upload"}), ("objects", {"object": 1})):
        with (folder / f"{name}.jsonl").open("w") as file:
            for n in range(1, 5):
                times = {"transaction": n, "start_ns": n * S_NS, "end_ns": n * S_NS + 1}
                file.write(json.dumps(times | more) + "\n")
    run = read_storage_run(folder, Window(2 * S_NS, 4 * S_NS))
    assert [one.number for one in run.transactions] == [2, 3]
    assert [one.transaction for one in run.objects] == [2, 3]
    assert run.problems[0].endswith(": 2 of 4 transactions")


def test_messages_by_when_they_were_sent_whenever_they_came(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=6))
    for number in range(5):
        made.send([number], 100 * number, 100 * number + 5)
    made.receive([(0, 0, None), (1, 100, None)], 150, 160).receive([(2, 200, None), (4, 400, None)], 600, 610)
    made.delete([0, 1], 170, 175).delete([2, 4], 620, 625)
    whole = made.read()
    run = read_queue_run(made.folder, window=Window(at(100), at(400)))
    found = accounts(run)
    assert (found.planned, found.delivered, found.lost, found.unsent) == (3, 2, 1, 0)
    assert accounts(whole).unsent == 1
    assert [number for log in run.logs for number in log.deleted["number"].tolist()] == [1, 2]
    calls = {row.operation: row.calls for row in call_rows(run)}
    assert calls == {"send": 3, "receive": 1, "delete": 1}
    assert run.problems[0].endswith(": 3 of 5 messages")
    assert read_queue_run(made.folder) == whole


def test_downloads_of_a_swarm(tmp_path: Path) -> None:
    made = MadeSwarm(tmp_path / "swarm")
    for second in range(3):
        made.download(20_000, start_ns=second * S_NS)
    run = read_swarm_run(made.folder, Window(S_NS, 2 * S_NS))
    assert [one.start_ns for one in run.downloads] == [S_NS]
    assert run.problems[0].endswith(": 1 of 3 downloads")


def test_answers_and_echoes_of_a_discovery(tmp_path: Path) -> None:
    made = MadeDiscovery(tmp_path / "run", "lausanne", LAUSANNE)
    made.answer("r1", "192.0.2.1", at_s=0.0)
    made.answer("r1", "192.0.2.2", at_s=60.0)
    made.round_trips("192.0.2.1", 0.01)
    run = read_discovery_run(made.folder, Window(from_ns=DISCOVERY_NS + S_NS))
    assert [address for _, address in run.answers.seen] == ["192.0.2.2"]
    assert run.echoes == ()
    assert run.problems[0].endswith(": 1 of 2 answers")
    assert len(read_discovery_run(made.folder).answers.seen) == 2

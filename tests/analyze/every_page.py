"""One page of each report that the product makes, of small inputs made in the open: for tests in a browser."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.analyze import queues_made
from tests.analyze.campaign_made import campaign_of, folder_of, request
from tests.analyze.conftest import Capture, RunMaker, add_transfer
from tests.analyze.discovery_made import reported, three_vantages
from tests.analyze.reports import report_of
from tests.analyze.storage_made import MadeRun, said, talk
from tests.analyze.swarm_made import MadeSwarm
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import named_apart, read_run
from vmtrace.analyze.reports.discovery.charts import charts as discovery_charts
from vmtrace.analyze.reports.discovery.page import page_of as discovery_page
from vmtrace.analyze.reports.queues.charts import charts as queue_charts
from vmtrace.analyze.reports.queues.page import page_of as queues_page
from vmtrace.analyze.reports.queues.tables import reports_of as queue_reports
from vmtrace.analyze.reports.queues.wire import measure
from vmtrace.analyze.reports.run import provenance
from vmtrace.analyze.reports.run.changes.compare_runs import compare_runs
from vmtrace.analyze.reports.run.changes.page import page_of as comparison_page
from vmtrace.analyze.reports.run.figures import charts
from vmtrace.analyze.reports.run.page.page import page_of
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.charts import charts as storage_charts
from vmtrace.analyze.reports.storage.document import provenance as storage_provenance
from vmtrace.analyze.reports.storage.measured import measure_run
from vmtrace.analyze.reports.storage.page import page_of as storage_page
from vmtrace.analyze.reports.storage.run_folder import read_storage_run
from vmtrace.analyze.reports.storage.tables import reports_of
from vmtrace.analyze.reports.swarm.charts import charts as swarm_charts
from vmtrace.analyze.reports.swarm.page import page_of as swarm_page
from vmtrace.analyze.trace import read
from vmtrace.commands.cost_page import write_page as write_cost
from vmtrace.corpus.overview import overview_of
from vmtrace.corpus.page import write_page as write_corpus
from vmtrace.providers.costs.estimate import estimate
from vmtrace.providers.costs.scenarios import Context
from vmtrace.providers.costs.workload import load_workload
from vmtrace.providers.rates import load_rates

Maker = Callable[[Path], None]


def measured(*made: Any) -> list[RunResults]:
    """Run folders, measured."""
    found = named_apart([read_run(one.folder) for one in made])
    return [RunResults(run, tuple(Measuring(run).run()), run.problems) for run in found]


def write_runs(path: Path, *made: Any) -> None:
    """The page on runs."""
    runs = measured(*made)
    write_report_page(page_of(runs, charts(runs, [run.choose(None) for run in runs]), provenance.of_runs(runs)), path)


def _run(folder: Path, name: str = "run") -> RunMaker:
    made = RunMaker(folder / name)
    made.plan(("I_0", 1, 10_000, 50_000), ("I_1", 1, 10_000, 50_000))
    made.pairs(4, "I_0")
    made.pairs(4, "I_1", first=5)
    return made


def _of_one_run(path: Path) -> None:
    write_runs(path, _run(path.parent))


def _of_runs(path: Path) -> None:
    write_runs(path, _run(path.parent), _run(path.parent, "other"))


def _of_one_pair(path: Path) -> None:
    """Of one pair, without a capture."""
    made = RunMaker(path.parent / "bare")
    made.pairs(1, captured=False)
    write_runs(path, made)


def _comparison(path: Path) -> None:
    before, after = measured(_run(path.parent), _run(path.parent, "other"))
    write_report_page(comparison_page(compare_runs(before, after)), path)


def _capture(path: Path) -> None:
    made = add_transfer(Capture(), segments=100, lost=tuple(range(5, 95, 8)))
    report_of(read(made.write(path.with_suffix(".pcap"))), path, [1])


def _captures(path: Path) -> None:
    capture = Capture()
    for number in range(40):
        lost = (3,) if number % 2 else ()
        add_transfer(capture, start_s=number / 4, port=40_000 + number, segments=12, lost=lost)
    report_of(read(capture.write(path.with_suffix(".pcap"))), path, [1, 2])


def _storage(path: Path) -> None:
    run = MadeRun(path.parent / "storage")
    run.transaction(1, [said(0, 60, 62, 1001, opened=True), said(62, 80, 82, 1002, opened=True)])
    run.capture(1, [*talk(1001, 25, [(100, 1200)]), *talk(1002, 62, [(100, 1200)])])
    _write_storage(path, run.folder)


def _campaign(path: Path) -> None:
    """Probes whose throughput steps, and an availability campaign beside it."""
    rates = [8e6 + 1e5 * (number % 7) for number in range(60)] + [4e6 + 1e5 * (number % 7) for number in range(40)]
    requests = [request(10.0 * number, rate, probe=number + 1) for number, rate in enumerate(rates)]
    probes = folder_of(path.parent / "probes", "probes", requests)
    asked = (request(60.0 * number, 2e6, probe=number + 1, retries=number % 3) for number in range(20))
    folders = (probes, folder_of(path.parent / "availability", "availability", asked))
    _write_storage(path, *folders, campaigns={folder.name: campaign_of(folder) for folder in folders})


def _write_storage(path: Path, *folders: Path, campaigns: Mapping[str, Campaign] | None = None) -> None:
    reports = reports_of([measure_run(read_storage_run(folder)) for folder in folders], None, campaigns)
    write_report_page(storage_page(reports, storage_charts(reports), storage_provenance(reports)), path)


def _queue(path: Path) -> None:
    made = queues_made.Made(path.parent / "queue", queues_made.stage(messages=10, rate_per_s=100.0))
    for number in range(10):
        made.send([number], 10 * number + 1, 10 * number + 5, due=10 * number)
    made.receive([(number, 10 * number + 1, 10 * number) for number in range(10)], 60, 110)
    run = made.delete(list(range(10)), 111, 115).stage_ended().read()
    found = queue_reports([(run, measure(run))])
    write_report_page(queues_page(found, queue_charts(found), {}), path)


def _discovery(path: Path) -> None:
    runs = three_vantages(path.parent / "discovery", (0.015, 0.075, 0.3))
    runs[0].answer("192.0.2.7", status="other_question")
    write_report_page(discovery_page(reported(runs), discovery_charts(reported(runs)), {}), path)


def _swarm(path: Path) -> None:
    made = MadeSwarm(path.parent / "swarm")
    made.download(20_000)
    made.download(10_000, 10_000)
    made.download(0, 20_000, web_seed="forbidden")
    reports = [made.report()]
    write_report_page(swarm_page(reports, swarm_charts(reports), {}), path)


def _corpus(path: Path) -> None:
    import pyarrow as pa

    from tests.corpus.test_overview import row

    causes = ("loss_recovery", "receiver_window", "application", None)
    rows = [row(number, causes[number % 4], 1.0 + number) for number in range(40)]
    capture = {"unseen_acked_bytes": 1, "clock_steps": 0}
    inputs = [{"path": f"{'deep/' * 12}{number}.pcap", "format": "pcap", "packets": 5, "tcp_packets": 4, "damage": [],
               "capture": capture} for number in range(40)]  # fmt: skip
    write_corpus(overview_of([pa.Table.from_pylist(rows)]), inputs, (), {}, path)


def _cost(path: Path) -> None:
    asked, table = load_workload("dzero"), load_rates("palankar2008")
    write_cost(estimate(Context(asked.workload, table, table.rows[0]), asked.ways), {}, {}, path)


PAGES: dict[str, Maker] = {
    "capture": _capture,
    "captures": _captures,
    "run": _of_one_run,
    "runs": _of_runs,
    "one pair": _of_one_pair,
    "comparison": _comparison,
    "storage": _storage,
    "campaign": _campaign,
    "queue": _queue,
    "discovery": _discovery,
    "swarm": _swarm,
    "corpus": _corpus,
    "cost": _cost,
}
"""By what each is on."""

"""The results of a run are those of one process, whatever is cut where."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.corpus import captures_made as made
from tests.corpus.corpora import BUCKETS, CORPORA
from tests.corpus.oracle import Quiet, assert_same, one_process, run, settings
from tests.cut import cut
from vmtrace.analyze import _engine
from vmtrace.corpus import inputs
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.running import Run
from vmtrace.corpus.splitting import manifests
from vmtrace.corpus.workers import ThisProcess

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _runs_of_one_file_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small captures are cut as large ones are: where files can stand apart, each is a run of its own."""
    monkeypatch.setattr("vmtrace.corpus.planning.ONE_TASK_BYTES", 0)
    monkeypatch.setattr("vmtrace.corpus.planning._LEAST_RUN_BYTES", 1)
    monkeypatch.setattr("vmtrace.corpus.planning._RUNS_PER_WORKER", 1000)


def names(paths: list[Path]) -> list[str]:
    return [str(path) for path in paths]


# Each corpus in eight buckets, and one in each number of them.
CUT = [(corpus, 8) for corpus in CORPORA] + [("few_connections", buckets) for buckets in BUCKETS if buckets != 8]
MORE = [(corpus, buckets) for corpus in CORPORA for buckets in BUCKETS if (corpus, buckets) not in CUT]


@pytest.mark.parametrize(("corpus", "buckets"), cut(CUT + MORE, len(CUT)))
def test_whatever_is_cut_where_the_result_is_that_of_one_process(corpus: str, buckets: int, tmp_path: Path) -> None:
    paths = names(CORPORA[corpus](tmp_path / "in"))
    run(paths, tmp_path / "out", buckets)
    assert_same(tmp_path / "out", paths, one_process(paths))


def test_files_that_stand_apart_are_runs_of_their_own(tmp_path: Path) -> None:
    done = run(names(CORPORA["rotated_with_lookups"](tmp_path / "in")), tmp_path / "out", 8)
    assert (done.connections, done.runs, done.buckets) == (150, 9, 8)
    assert run(names(CORPORA["interfaces"](tmp_path / "two")), tmp_path / "out-two", 8).runs < 7
    assert run(names(CORPORA["fragments_and_tunnels"](tmp_path / "cut")), tmp_path / "out-cut", 8).runs > 1


def test_corpora_have_what_they_are_for(tmp_path: Path) -> None:
    def shown(corpus: str) -> dict[str, Any]:
        document: dict[str, Any] = one_process(names(CORPORA[corpus](tmp_path / corpus))).json()
        return document

    assert shown("damaged_and_truncated")["inputs"][1]["damage"]
    assert sum(one["capture"]["clock_steps"] for one in shown("clock_set_back")["inputs"]) > 0
    assert shown("recorded_late")["inputs"][0]["capture"]["lag_removed"]
    assert "limit_intervals" in json.dumps(shown("few_connections"))
    shared = shown("shared_limits")
    assert [len(limit["connections"]) for limit in shared["shared_limits"]] == [8]
    assert len({one["server"] for one in shared["connections"] if one["server"].startswith("198.18.")}) == 8
    assert max(one["connections"] for one in shared["request_servers"]) > 5


def test_a_filter_leaves_out_what_one_process_leaves_out(tmp_path: Path) -> None:
    paths = names(CORPORA["rotated_with_lookups"](tmp_path / "in"))
    done = run(paths, tmp_path / "out", 4, filter="ip6 or host 10.0.0.1")
    assert 0 < done.connections < 150
    assert_same(tmp_path / "out", paths, one_process(paths, "ip6 or host 10.0.0.1"))
    with pytest.raises(CorpusError, match=r"a run with --filter 'ip6 or host 10\.0\.0\.1' was begun here"):
        run(paths, tmp_path / "out", 4)
    assert not (tmp_path / "out/indexes").exists()


def test_what_is_no_capture_is_left_out_and_reported(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 3))
    (tmp_path / "in/notes.txt").write_text("no capture at all")
    (tmp_path / "in/empty.pcap").write_bytes(b"")
    found = inputs.find([str(tmp_path / "in" / "*")], None)
    assert len(found.inputs) == 3
    assert [line.rpartition("/")[2].partition(":")[0] for line in found.problems] == ["empty.pcap", "notes.txt"]
    Run(settings(tmp_path / "out", 4), ThisProcess(), Quiet()).of(found)
    assert_same(tmp_path / "out", names(paths))


def test_a_second_run_does_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(60)), 6)))
    run(paths, tmp_path / "out", 8, keep_slices=True)
    whole = (tmp_path / "out/analysis.json").read_bytes()
    (tmp_path / "out/buckets/00003.json").unlink()
    (tmp_path / "out/connections/part-00002.parquet").unlink()
    (tmp_path / "out/buckets/00002.table").unlink()
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        true = getattr(_engine, name)

        def call(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return true(*given, **more)

        return call

    for name in ("split", "analyze_slices"):
        monkeypatch.setattr(_engine, name, counted(name))
    run(paths, tmp_path / "out", 8, keep_slices=True)
    # Six to see when each capture starts.
    assert calls == {"split": 6, "analyze_slices": 1}
    assert (tmp_path / "out/analysis.json").read_bytes() == whole
    assert_same(tmp_path / "out", paths)


def test_results_of_other_captures_are_not_overwritten(tmp_path: Path) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 4)))
    run(paths[:2], tmp_path / "out", 4)
    with pytest.raises(CorpusError, match="results of other captures are here"):
        run(paths, tmp_path / "out", 4)
    with pytest.raises(CorpusError, match="a run with 4 buckets was begun here"):
        run(paths[:2], tmp_path / "out", 8)


def test_a_capture_that_changes_meanwhile_is_an_error_that_says_so(tmp_path: Path) -> None:
    paths = made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 2))
    found = inputs.find(names(paths), None)
    paths[0].write_bytes(paths[0].read_bytes() + b"more")
    with pytest.raises(OSError, match="it was changed while it was read"):
        Run(settings(tmp_path / "out", 4), ThisProcess(), Quiet()).of(found)


def test_slices_go_when_the_run_is_over(tmp_path: Path) -> None:
    paths = names(made.written(tmp_path / "in", made.rotated(made.merged(made.talks(20)), 2)))
    run(paths, tmp_path / "out", 4)
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept == {
        "analysis.json",
        "connections",
        "echoes.parquet",
        "indexes",
        "lookups.parquet",
        "manifest.json",
        "plan.json",
        "report.html",
        "syns.parquet",
    }
    assert json.loads((tmp_path / "out/manifest.json").read_text())["connections"] == 20
    assert not manifests(str(tmp_path / "out"), None)

"""What is no TCP is read once, after all buckets, and is there for the document, the tables and connections."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.corpus import datagrams_made as beside
from tests.corpus.corpora import beyond_tcp
from tests.corpus.oracle import run
from vmtrace.corpus.beyond import RECORD, BeyondTask, read_beyond, record_of
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import folder
from vmtrace.corpus.splitting import MANIFESTS


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A run whose parts are kept."""
    run([str(path) for path in beyond_tcp(tmp_path / "in")], tmp_path / "out", 5, keep_slices=True)
    return tmp_path / "out"


def test_a_corpus_says_what_is_no_tcp(corpus: Path) -> None:
    document = json.loads((corpus / "analysis.json").read_bytes())
    names = {one["name"]: one for one in document["lookups"]}
    assert names["slow.example"]["tries"] == 3
    assert names["slow.example"]["waited_s"] == pytest.approx(2.1)
    followed = {one["server"] for one in document["connections"] if one["lookup"] is not None}
    assert followed == {f"{host}:443" for host in (beside.SERVER, "10.1.0.8", "10.1.0.5")}
    by_application = {one["application"] or one["protocol"] for one in document["flows"]}
    assert {"rtp", "esp", "dns", "quic", "icmp_echo"} <= by_application
    [tried] = [one["quic"] for one in document["flows"] if one["quic"]]
    assert document["connections"][tried["fallback_connection"] - 1]["server"] == f"{beside.SERVER}:443"
    assert {one["address"] for one in document["neighbours"] if one["unanswered"]} == {"fe80::66"}
    kinds = {one["kind"] for one in document["findings"]}
    assert kinds >= {
        *("udp_unanswered", "udp_refused", "udp_loss", "dns_unanswered", "dns_refused", "dns_search_list"),
        *("dns_fragments_lost", "quic_unanswered", "icmp_unanswered", "neighbour_unresolved"),
    }
    assert sum(one["packets"] for one in document["protocols"]) == sum(one["packets"] for one in document["inputs"])
    assert len(pq.read_table(corpus / "echoes.parquet")) == 40


def test_the_task_is_done_once_and_again_where_its_runs_differ(corpus: Path) -> None:
    out = folder(str(corpus))
    names = tuple(out.names(MANIFESTS))
    task = BeyondTask(str(corpus), str(corpus), 5, None, names)
    before = (corpus / RECORD).stat().st_mtime_ns
    read_beyond(task)
    assert (corpus / RECORD).stat().st_mtime_ns == before
    out.put(RECORD, b'{"of": []}')
    read_beyond(task)
    assert record_of(out)["of"][-1] == 5


def test_a_record_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="what is no TCP is missing"):
        record_of(folder(str(tmp_path)))

"""What is no TCP is read once, after all buckets, and is there for the document, the tables and connections."""

import json
from pathlib import Path
from ssl import TLSVersion

import pyarrow.parquet as pq
import pytest

from tests.analyze.test_http2 import RESPONSE_BYTES, download
from tests.analyze.tls_wire import Tls, with_secrets
from tests.corpus import datagrams_made as beside
from tests.corpus.corpora import beyond_tcp
from tests.corpus.grid import small_runs
from tests.corpus.oracle import assert_same, run
from vmtrace.analyze.trace import Trace
from vmtrace.corpus.beyond import RECORD, BeyondTask, read_beyond, record_of
from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import folder
from vmtrace.corpus.splitting import MANIFESTS
from vmtrace.lab.services.certificates import Certificates


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
    with pytest.raises(CorpusError, match="what is not TCP is missing"):
        record_of(folder(str(tmp_path)))


def test_secrets_in_a_capture_open_what_other_captures_hold(chain: Certificates, tmp_path: Path) -> None:
    """The secrets stand in the first capture, and the transfer goes on in the second."""
    keylog = tmp_path / "keys.log"
    whole = download(Tls(chain, keylog, TLSVersion.TLSv1_3)).capture.write(tmp_path / "tls.pcap").read_bytes()
    records, at = [], 24
    while at < len(whole):
        end = at + 16 + int.from_bytes(whole[at + 8 : at + 12], "little")
        records.append(whole[at:end])
        at = end
    halves = (records[: len(records) // 2], records[len(records) // 2 :])
    names = [tmp_path / "in" / f"{number}.pcapng" for number in (1, 2)]
    names[0].parent.mkdir()
    for path, some, secrets in zip(names, halves, (keylog.read_bytes(), b""), strict=True):
        path.write_bytes(with_secrets(whole[:24] + b"".join(some), secrets))
    trace = assert_ran_as_one_process([str(path) for path in names], tmp_path / "out")
    [connection] = trace.json()["connections"]
    assert connection["http2"]["data_bytes"] == RESPONSE_BYTES


def assert_ran_as_one_process(names: list[str], out: Path) -> Trace:
    with small_runs():
        assert run(names, out, 3).runs == 2
    return assert_same(out, names)

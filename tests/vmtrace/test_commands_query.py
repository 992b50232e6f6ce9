"""`vmtrace query`, as it is called."""

import json
from pathlib import Path

import pytest

from tests.vmtrace.conftest import Vmtrace
from vmtrace.analyze.trace import read

SAMPLES = Path(__file__).parents[2] / "samples"
LOSSY, TLS = SAMPLES / "lossy-sender.pcap", SAMPLES / "tls13.pcap"


def test_tables_are_those_of_the_trace(vmtrace: Vmtrace) -> None:
    trace = read(str(LOSSY), str(TLS))
    question = "SELECT id, ledger_wire_bytes FROM connections ORDER BY id"
    done = vmtrace("query", question, LOSSY, TLS, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == sorted(trace.values("id"))
    assert sum(row["ledger_wire_bytes"] for row in rows) == sum(trace.values("ledger_wire_bytes"))
    done = vmtrace("query", "SELECT kind, cost_s FROM findings", LOSSY, TLS, "--format", "json")
    found = [(row["kind"], row["cost_s"]) for row in map(json.loads, done.stdout.splitlines())]
    assert found == [(one.kind, one.as_record()["cost_s"]) for one in trace.findings]


def test_packets_flows_and_lookups_can_be_asked(vmtrace: Vmtrace) -> None:
    done = vmtrace("query", "SELECT count(*) AS n FROM packets WHERE kind = 'retransmission'", LOSSY, "--format", "csv")
    assert done.stdout == '"n"\n6\n'
    for name in ("flows", "lookups", "syns"):
        done = vmtrace("query", f"SELECT count(*) AS n FROM {name}", LOSSY)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == "n"


@pytest.mark.parametrize(
    ("question", "source", "reason"),
    [
        ("SELECT * FROM '/etc/passwd'", LOSSY, "SQL error: Catalog Error"),
        ("SELECT nothing FROM connections", LOSSY, "SQL error: Binder Error"),
        ("COPY connections TO 'mine.csv'", LOSSY, "SQL error: "),
        ("", LOSSY, "SQL error: it asks for nothing"),
        ("SELECT 1", "/nonexistent.pcap", "/nonexistent.pcap: No such file"),
    ],
)
def test_a_wrong_question_is_one_line(question: str, source: Path, reason: str, vmtrace: Vmtrace) -> None:
    done = vmtrace("query", question, source)
    assert done.returncode == 1
    assert done.stderr.startswith(f"vmtrace: {reason}")
    assert done.stderr.count("\n") == 1

"""The first hour of three people: what each of them asks is the answer they get, with nothing looked up.

One has a slow web server, one an afternoon of measuring, and one a notebook. Real programs, on loopback.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vmtrace
from tests.analyze.on_loopback import namespace, recorded, started
from tests.in_process import vmtrace_here
from vmtrace.lab.namespaces import missing_requirement

SAMPLES = Path(__file__).parents[2] / "samples"
in_the_lab = pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}")
WAIT_S = 0.3
"""What the server takes for each response; a busy machine only adds to it."""
REQUESTS = 4
SERVER = f"""
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep({WAIT_S})
        self.send_response(200)
        self.send_header("Content-Length", "2000")
        self.end_headers()
        self.wfile.write(b"x" * 2000)
    def log_message(self, *arguments):
        pass
server = HTTPServer(("127.0.0.1", 8080), Handler)
print("ready", flush=True)
server.serve_forever()
"""
CLIENT = f"""
import http.client
connection = http.client.HTTPConnection("127.0.0.1", 8080)
for _ in range({REQUESTS}):
    connection.request("GET", "/")
    connection.getresponse().read()
"""
BYTES = 20_000_000


@pytest.mark.root
@pytest.mark.untimed
@in_the_lab
def test_of_a_slow_server_the_time_to_first_byte_is_the_answer(tmp_path: Path) -> None:
    with (
        namespace() as inside,
        started([*inside, sys.executable, "-c", SERVER], "ready"),
        recorded(inside, tmp_path / "slow.pcap", "tcp port 8080"),
    ):
        subprocess.run([*inside, sys.executable, "-c", CLIENT], check=True, timeout=60)
    done = vmtrace_here("analyze", "slow.pcap", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first = re.search(r"^1\. .*?(?=^2\. |^$)", done.stdout, re.MULTILINE | re.DOTALL)
    assert first, done.stdout
    assert "server" in first[0].lower(), done.stdout
    trace = vmtrace.read(tmp_path / "slow.pcap")
    finding = trace.findings[0]
    assert finding.cost_s is not None
    assert finding.cost_s >= REQUESTS * WAIT_S * 0.9, finding.sentence
    (record,) = trace.records([1])
    assert record["request_totals"]["first_byte_median_s"] >= WAIT_S * 0.9


@pytest.mark.root
@in_the_lab
def test_the_goodput_is_that_of_iperf3(tmp_path: Path) -> None:
    with (
        namespace() as inside,
        started([*inside, "iperf3", "--server", "--one-off", "--forceflush"], "listening"),
        recorded(inside, tmp_path / "rate.pcap", "tcp port 5201"),
    ):
        # Paced, so that neither the recorder nor the machine's other guests decide the rate.
        words = ["iperf3", "--client", "127.0.0.1", "--bytes", str(BYTES), "--bitrate", "100M", "--json"]
        done = subprocess.run([*inside, *words], check=True, capture_output=True, text=True, timeout=120)
    said = json.loads(done.stdout)["end"]["sum_received"]
    rows = vmtrace.read(tmp_path / "rate.pcap").narrow.to_pylist()
    fastest = max(rows, key=lambda row: row["goodput_bps"] or 0)
    assert fastest["goodput_bps"] == pytest.approx(said["bits_per_second"], rel=0.05)


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
def test_a_notebook_answers_with_names_that_are_not_looked_up(library: str) -> None:
    module: Any = pytest.importorskip(library)
    narrow = vmtrace.read(SAMPLES).narrow
    assert {"id", "client", "server", "goodput_bps", "rtt_min_s", "loss_rate", "cause", "outcome"} <= set(
        narrow.column_names
    )
    causes = {row["cause"] for row in narrow.to_pylist()} - {None}
    assert causes
    if library == "pandas":
        frame = narrow.to_pandas()
        found = frame.groupby("cause")["goodput_bps"].median().dropna()
        assert set(found.index) <= causes
        assert frame["loss_rate"].max() > 0
    elif library == "polars":
        frame = module.from_arrow(narrow)
        found = frame.filter(module.col("loss_rate") > 0).sort("goodput_bps")
        assert found.height > 0
        assert found["goodput_bps"].is_sorted()
    else:
        rows = module.query("SELECT cause, count(*) FROM narrow WHERE cause IS NOT NULL GROUP BY 1").fetchall()
        assert {cause for cause, _ in rows} == causes

"""`vmtrace analyze`: every option does what its help says, and the exit status says how it went."""

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

from vmtrace.analyze.tables.schema import load


@pytest.fixture
def capture(two_transfers: Any, tmp_path: Path) -> Path:
    written: Path = two_transfers.write(tmp_path / "two.pcap")
    return written


def test_the_table_comes_by_itself(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("two.pcap: pcap, Ethernet, 134 packets (134 TCP)")
    assert "10.0.0.1:40001" in done.stdout
    assert "\x1b" not in done.stdout, "no colour where it is no terminal"
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_json_on_standard_output_is_alone_there(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--json", "-")
    document = json.loads(done.stdout)
    jsonschema.validate(document, load())
    assert document["inputs"][0]["path"] == "two.pcap"
    assert [connection["id"] for connection in document["connections"]] == [1, 2]


def test_json_in_a_file_is_whole_and_private(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--json", "out.json")
    assert done.returncode == 0
    assert done.stdout == "wrote: out.json\nnext:  vmtrace fields\n", "who asks for JSON has a program read it"
    jsonschema.validate(json.loads((tmp_path / "out.json").read_text()), load())
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "two.pcap"]


@pytest.mark.slow
def test_every_output_can_be_made_at_once(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    done = vmtrace(
        "analyze", "two.pcap", "--csv", "csv", "--parquet", "parquet", "--figures", "figures", "--report", "r.html",
        "--json", "out.json", "--quiet",
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in (tmp_path / "csv").iterdir()} == {
        "connections.csv", "findings.csv", "flows.csv", "lookups.csv", "syns.csv", "provenance.json",
    }  # fmt: skip
    assert {path.name for path in (tmp_path / "parquet").iterdir()} == {
        "connections.parquet", "findings.parquet", "flows.parquet", "lookups.parquet", "syns.parquet",
    }  # fmt: skip
    assert {path.name[:12] for path in (tmp_path / "figures").iterdir()} == {"connection-1", "connection-2"}
    assert "10.0.0.1:40000" in (tmp_path / "r.html").read_text()


def test_packets_are_written_for_chosen_connections(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--connection", "2", "--parquet", "out", "--figures", "figures", "-q")
    assert done.returncode == 0
    assert set(pq.read_table(tmp_path / "out" / "packets.parquet")["connection"].to_pylist()) == {2}
    assert {path.name[:12] for path in (tmp_path / "figures").iterdir()} == {"connection-2"}


def test_one_connection_is_shown_in_full(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--connection", "2")
    assert "connection 2: 10.0.0.1:40001 → 10.0.0.2:5001" in done.stdout
    assert "where the bytes went" in done.stdout


def test_a_connection_that_there_is_not_is_reported(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--connection", "7")
    assert done.returncode == 1
    assert done.stderr == "vmtrace: no connection 7: they are numbered 1 to 2\n"


def test_a_filter_is_applied(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--filter", "tcp port 40001")
    assert "40001" in done.stdout
    assert "40000" not in done.stdout


def test_a_bad_filter_is_wrong_usage(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "--filter", "tcp prt 40001")
    assert done.returncode == 2
    assert done.stderr == "vmtrace: filter 'tcp prt 40001': can't parse filter expression: syntax error\n"


def test_standard_input_is_read_and_kept_where_packets_are_wanted(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    done = vmtrace("analyze", "-", "--report", "r.html", stdin=capture.read_bytes())
    assert done.returncode == 0
    assert done.stdout.startswith("<stdin>: pcap")
    assert '"lane":"spacing"' in (tmp_path / "r.html").read_text()


def test_sums_by_provider_are_in_the_table_the_json_and_the_csv(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    table = vmtrace("analyze", "two.pcap", "--by", "provider").stdout
    assert "no name, port 5001" in table
    assert table.splitlines()[-1].startswith("- means: service: not known; resumed: no TLS;")
    vmtrace("analyze", "two.pcap", "--by", "provider", "--json", "out.json", "--csv", "csv")
    document = json.loads((tmp_path / "out.json").read_text())
    jsonschema.validate(document, load())
    (provider,) = document["by_provider"]
    assert provider["connections"] == 2
    assert provider["wire_bytes"] == sum(c["ledger"]["wire_bytes"] for c in document["connections"])
    assert "port 5001" in (tmp_path / "csv" / "providers.csv").read_text()


def test_one_rate_has_one_name(vmtrace: Any, capture: Path) -> None:
    lines = vmtrace("analyze", "two.pcap", "--connection", "1").stdout.splitlines()
    heads = {line.split("  ")[0] for line in lines}
    assert {"goodput", "possible (the best rate seen)"} <= heads
    assert not {"reference", "goodput bps", "oversize rule"} & heads


def test_a_crossed_threshold_is_status_3_and_names_the_connection(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "-q", "--fail-if", "loss_rate>0.05")
    assert done.returncode == 3
    where = "connection 2 (10.0.0.1:40001 to 10.0.0.2:5001, client to server)"
    assert done.stderr == f"vmtrace: --fail-if loss_rate>0.05: {where}: loss_rate = 0.0909091\n"


def test_a_threshold_that_holds_is_fine(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "-q", "--fail-if", "loss_rate>0.5 or rtt_min_s>1")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_threshold_that_cannot_be_judged_is_reported(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", "-q", "--fail-if", "tls_handshake_s>1")
    assert done.returncode == 0
    assert "could not be judged, tls_handshake_s was not measured in any connection" in done.stderr


@pytest.mark.parametrize("text", ["loss_rate>", "los_rate>1"])
def test_a_bad_threshold_is_wrong_usage(vmtrace: Any, capture: Path, text: str) -> None:
    done = vmtrace("analyze", "two.pcap", "-q", "--fail-if", text)
    assert done.returncode == 2
    assert done.stderr.startswith("vmtrace: --fail-if")
    assert done.stderr.count("\n") == 1


def test_anonymous_outputs_name_nobody(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    done = vmtrace(
        "analyze", capture, "--anonymize", "--json", "o.json", "--csv", "csv", "--report", "r.html", "--fail-if",
        "loss_rate>0", "--filter", "host 10.0.0.1",
    )  # fmt: skip
    assert done.returncode == 3
    report = (tmp_path / "r.html").read_text()
    shown = [done.stdout, done.stderr, (tmp_path / "o.json").read_text(), report[: report.index("<script>")]]
    shown += [path.read_text() for path in (tmp_path / "csv").iterdir()]
    assert "10.0.0." not in "".join(shown)
    assert str(tmp_path) not in "".join(shown)


def test_oversize_and_threads_and_limit_reach_the_engine(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    options = ("--oversize-abs", "5", "--threads", "2", "--limit", "1")
    assert "1 more connection not shown" in vmtrace("analyze", "two.pcap", *options).stdout
    vmtrace("analyze", "two.pcap", *options, "--json", "o.json")
    document = json.loads((tmp_path / "o.json").read_text())
    assert document["connections"][0]["client_to_server"]["spacing"]["oversize_rule"] == "fixed"
    assert document["connections"][0]["client_to_server"]["spacing"]["oversize_threshold_s"] == 0.005


def test_files_can_be_kept_apart_or_merged(vmtrace: Any, capture: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.pcap").write_bytes(capture.read_bytes())
    counts = []
    for options in ([], ["--separate"], ["--merge"]):
        done = vmtrace("analyze", "two.pcap", "copy.pcap", "--json", "-", *options)
        counts.append(len(json.loads(done.stdout)["connections"]))
    assert counts == [4, 4, 2]


def test_a_folder_and_a_pattern_are_read(vmtrace: Any, capture: Path) -> None:
    for name in (".", "*.pcap"):
        assert "134 packets" in vmtrace("analyze", name).stdout


def test_a_small_capture_does_not_wait_for_data_libraries(vmtrace: Any, capture: Path) -> None:
    done = vmtrace("analyze", "two.pcap", PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "vmtrace.analyze.tables.human_table" in imported
    assert imported & {"pyarrow", "numpy", "matplotlib", "pandas", "jinja2", "scipy"} == set()
    # Each module makes every command slower: a new one must be worth it. A rule of findings has one of its own.
    rules = {name for name in imported if name.startswith("vmtrace.analyze.findings.rules.")}
    assert len(imported - rules - {"site", "sitecustomize"}) <= 214


@pytest.mark.parametrize("options", [("--allowance", "1Mbit/s"), ("--instance-type", "m5.large")])
def test_an_allowance_is_compared_with(vmtrace: Any, capture: Path, options: tuple[str, str]) -> None:
    printed = vmtrace("analyze", "two.pcap", *options).stdout
    assert "\nallowance " in printed
    document = json.loads(vmtrace("analyze", "two.pcap", *options, "--json", "-", "--by", "provider").stdout)
    jsonschema.validate(document, load())
    assert document["allowance"]["baseline_bps"] in {1e6, 0.75e9}
    assert "by_provider" in document


def test_nothing_beyond_an_allowance_counts_as_possible(vmtrace: Any, capture: Path) -> None:
    sample = Path(__file__).parents[2] / "samples/lossy-sender.pcap"
    free, allowed = (
        json.loads(vmtrace("analyze", sample, *options, "--json", "-").stdout)["connections"][0]
        for options in ((), ("--allowance", "1kbit/s"))
    )
    data = max(("client_to_server", "server_to_client"), key=lambda side: free[side]["payload_bytes"])
    assert allowed[data]["reference_bps"] < free[data]["reference_bps"]


@pytest.mark.parametrize(
    "options",
    [
        ("--allowance", "fast"),
        ("--instance-type", "m99.large"),
        ("--instance-type", "m5.large", "--allowance", "1Gbit/s"),
    ],
)
def test_an_allowance_that_is_not_valid_is_wrong_usage(vmtrace: Any, capture: Path, options: tuple[str, ...]) -> None:
    done = vmtrace("analyze", "two.pcap", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--allowance" in done.stderr

"""`vmtrace discover` as a person calls it: statuses, lines, outputs, Ctrl-C; and places in a storage report."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.analyze.discovery_made import LAUSANNE, MadeRun, three_vantages
from tests.analyze.storage_made import MadeRun as MadeStorageRun
from tests.analyze.storage_made import said
from tests.in_process import vmtrace_here
from tests.providers.dns_stand_in import given, serving
from vmtrace.commands.rooms import COMMANDS
from vmtrace.errors import UsageError

ADDRESS = "192.0.2.1"


def discover(*words: object) -> subprocess.CompletedProcess[str]:
    return vmtrace_here("discover", *words)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nolist"], "neither a host name nor a list"),
        (["a.example", "--at", "91,0"], "out of range"),
        (["a.example", "--at", "here"], "LAT,LON"),
        (["a.example", "--rate", "0"], "--rate"),
        (["a.example", "--attempts", "x"], "--attempts"),
        (["a.example", "--timeout", "0s"], "--timeout"),
        (["a.example", "--every", "1h"], "--every and --for go together"),
        (["a.example", "--resolvers", "nothere"], "--resolvers nothere: No such file"),
        (["a.example", "--landmarks", "nothere"], "--landmarks nothere: No such file"),
        (["a.example", "--names-file", "nothere"], "nothere: No such file"),
        (["a.example", "--client-subnet", "x"], "--client-subnet"),
        (["a.example", "--ca-bundle", "nothere"], "--ca-bundle"),
        (["a.example", "--no-capture", "--interface", "lo"], "--no-capture"),
        (["aws-s3", "--region", "mars-1"], "--region mars-1"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], reason: str, tmp_path: Path) -> None:
    parsed = COMMANDS["discover"].parser("discover").parse_args(["run", *words, "--out", str(tmp_path / "run")])
    with pytest.raises(UsageError, match=reason) as raised:
        COMMANDS["discover"].run(parsed)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_wrong_usage_has_status_2(tmp_path: Path) -> None:
    done = discover("run", "nolist", "--out", tmp_path / "run")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_run_says_what_it_does_and_how_to_read_it(tmp_path: Path) -> None:
    with serving(given("127.0.0.1")) as resolver:
        (tmp_path / "resolvers").write_text(f"{resolver.address}#{resolver.port} CH\n")
        where = ("--resolvers", tmp_path / "resolvers", "--out", tmp_path / "run", "--at", "46.5,6.6")
        few = ("--port", 1, "--no-traceroute", "--no-capture", "--round-trips", 1)
        done = discover("run", "a.example", *where, *few)
    assert done.returncode == 0, done.stderr
    assert f"vmtrace discover report {tmp_path / 'run'}" in done.stdout
    assert "2 questions for 1 name to 1 resolver" in done.stderr
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert (state["vantage"], state["position"]) == ("run", {"lat": 46.5, "lon": 6.6})


def test_ctrl_c_leaves_a_run_that_can_be_reported_on(tmp_path: Path) -> None:
    with serving(given("127.0.0.1")) as resolver:
        (tmp_path / "resolvers").write_text(f"{resolver.address}#{resolver.port}\n")
        names = [f"n{number}.example" for number in range(200)]
        command = [sys.executable, "-m", "vmtrace", "discover", "run", *names, "--out", str(tmp_path / "run"),
                   "--resolvers", str(tmp_path / "resolvers"), "--resolver-rate", "10", "--quiet"]  # fmt: skip
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            answers = tmp_path / "run/answers.jsonl"
            ends_s = time.monotonic() + 60
            while not (answers.exists() and answers.read_bytes().count(b"\n") >= 3):
                assert time.monotonic() < ends_s
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "stopped before its end" in said
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "interrupted"
    done = discover("report", tmp_path / "run", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["runs"][0]["status"] == "interrupted"


@pytest.mark.root
@pytest.mark.untimed
def test_without_rights_the_rest_goes_on_and_it_is_reported() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give up its rights")
    with tempfile.TemporaryDirectory() as name, serving(given("127.0.0.1")) as resolver:
        folder = Path(name)
        folder.chmod(0o777)  # the folder of pytest itself is root's alone
        (folder / "resolvers").write_text(f"{resolver.address}#{resolver.port}\n")
        words = [sys.executable, "-m", "vmtrace", "discover", "run", "a.example", "--out", str(folder / "run")]
        words += ["--resolvers", str(folder / "resolvers"), "--port", "1", "--no-traceroute", "--round-trips", "1"]
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ | {"HOME": "/"})
        assert done.returncode == 0, done.stderr
        notes = json.loads((folder / "run/run.json").read_text())["notes"]
    assert any("no packets recorded" in note for note in notes)


def test_a_report_has_all_outputs(tmp_path: Path) -> None:
    runs = [one.folder for one in three_vantages(tmp_path / "runs", (0.015, 0.062, 0.112))]
    outputs = ("--html", tmp_path / "r.html", "--map", tmp_path / "m.svg", "--csv", tmp_path / "c")
    done = discover("report", *runs, *outputs, "--no-color")
    assert done.returncode == 0, done.stderr
    assert "1 address of front ends of 1 name, 1 located, from 3 vantage points" in done.stdout
    assert "Dublin" in done.stdout
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    assert "<svg" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "c/addresses.csv").exists()


def test_published_ranges_say_whose_an_address_is(tmp_path: Path) -> None:
    runs = [one.folder for one in three_vantages(tmp_path / "runs", (0.015, 0.062, 0.112))]
    (tmp_path / "ranges.csv").write_text("198.18.16.0/24,Made Cloud,Storage,dub\n")
    done = discover("report", *runs, "--json", "-", "--address-ranges", tmp_path / "ranges.csv")
    assert json.loads(done.stdout)["names"][0]["addresses"][0]["published_range"] == "Made Cloud Storage dub"
    wrong = discover("report", *runs, "--address-ranges", tmp_path / "nothere")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


def test_runs_that_cannot_be_read_are_one_line_each_and_the_rest_is_reported(tmp_path: Path) -> None:
    good = MadeRun(tmp_path / "good", "v", LAUSANNE)
    good.answer("192.0.2.1", ADDRESS)
    empty = MadeRun(tmp_path / "empty", "v", LAUSANNE)
    done = discover("report", tmp_path / "nothere", empty.folder, good.folder)
    assert done.returncode == 1
    assert [line.split(": ")[2] for line in done.stderr.splitlines()] == [
        "no such run folder", "no front end in it (the run is complete)",
    ]  # fmt: skip
    assert "1 address" in done.stdout
    assert discover("report", tmp_path / "nothere").returncode == 1


def test_a_storage_report_names_the_places_of_its_front_ends(tmp_path: Path) -> None:
    storage = MadeStorageRun(tmp_path / "storage", front_end_names={ADDRESS: "fe1.example"})
    storage.transaction(1, [said(0, 1, 2, 40001, opened=True)])
    runs = [one.folder for one in three_vantages(tmp_path / "runs", (0.015, 0.062, 0.112), ADDRESS)]
    words = [word for run in runs for word in ("--discovery", str(run))]
    done = vmtrace_here("storage", "report", storage.folder, "--json", "-", *words)
    assert done.returncode == 0, done.stderr
    places = {one["front_end"]: one["place"] for one in json.loads(done.stdout)["runs"][0]["front_end_servers"]}
    assert places[ADDRESS]["city"] == "Dublin"

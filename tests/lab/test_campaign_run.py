"""Campaigns between real hosts: what they leave, and that nothing else is left. The programs are small stand-ins."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.busy_machine import where_it_ran
from tests.lab.packets import own_namespaces
from vmtrace.lab.campaign import run as campaign_run
from vmtrace.lab.campaign.settings import Campaign, CampaignError, Host
from vmtrace.lab.fate_log import read_csv
from vmtrace.lab.guest import kernel
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.profiles import PROFILES
from vmtrace.lab.profiles.overrides import changed
from vmtrace.lab.stalls import read as read_stalls

HERE = Path(__file__).parent
LOSSY = changed(PROFILES["lossy"], ["rtt=10ms", "loss=2%"])
PLAIN = Campaign(
    profile=LOSSY,
    seed=5,
    congestion_control="cubic",
    sender_arguments=("--scale", "0.1"),
    sender_program=(sys.executable, str(HERE / "plain_sender.py")),
    receiver_program=(sys.executable, str(HERE / "plain_receiver.py")),
)
pytestmark = [pytest.mark.root, pytest.mark.usefixtures("real_hosts")]


def quiet(line: str) -> None:
    assert "\n" not in line


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def lab_problems(truth: dict[str, Any]) -> list[str]:
    """Without those that a machine under load may have."""
    return [each for each in truth["problems"] if not each.startswith("the emulator")]


@pytest.mark.parametrize("ip_version", [4, 6])
def test_a_campaign_leaves_the_run_and_its_truth(tmp_path: Path, ip_version: int) -> None:
    outcome = campaign_run.run(replace(PLAIN, ip_version=ip_version), tmp_path / "run", quiet)
    lab = tmp_path / "run/lab"
    assert outcome.sender_status == 0
    assert lab_problems(outcome.truth) == []
    assert outcome.good == (outcome.truth["problems"] == [])
    assert bool(outcome.doubtful) == bool(outcome.truth["problems"]), "a busy machine names what is doubtful"
    assert json.loads((lab / "truth.json").read_text())["fates"] == outcome.truth["fates"]
    assert {path.name for path in lab.iterdir()} == {
        "fates.csv.gz", "transfers.jsonl", "truth.json", "receiver", "receiver.log",
    }  # fmt: skip
    assert lab.stat().st_mode & 0o777 == 0o700
    assert not (tmp_path / "run.lab").exists()
    assert own_namespaces(os.getpid()) == []
    fates = list(read_csv(lab / "fates.csv.gz"))
    lost = sum(row.fate == "lost_random" for row in fates if row.direction == "forward")
    assert outcome.truth["fates"]["forward"]["lost_random"] == lost > 0
    probe, data = lines_of(lab / "transfers.jsonl")
    assert (probe["transfer"], data["transfer"]) == ("probe", "data")
    assert probe["forward"]["unique_payload_bytes"] == 10_000
    assert data["forward"]["unique_payload_bytes"] == 1_000_000
    assert data["forward"]["data_segments_lost"] > 0
    assert data["forward"]["retransmissions_sent"] >= data["forward"]["data_segments_lost"]
    assert data["rtt"]["forward"]["min_s"] == pytest.approx(0.01, abs=0.005)


def test_the_same_seed_loses_the_same_packets(tmp_path: Path) -> None:
    lost = []
    for name in ("first", "second"):
        campaign_run.run(PLAIN, tmp_path / name, quiet)
        rows = list(read_csv(tmp_path / name / "lab/fates.csv.gz"))
        forward = {row.number: row.fate for row in rows if row.direction == "forward" and row.fate != "duplicate"}
        lost.append(forward)
    shared = set(lost[0]) & set(lost[1])
    assert len(shared) > 650
    dice = [{number for number in shared if fates[number] == "lost_random"} for fates in lost]
    assert dice[0] == dice[1]
    assert len(dice[0]) > 5


def test_without_offload_both_hosts_send_wire_segments(tmp_path: Path) -> None:
    outcome = campaign_run.run(replace(PLAIN, offload=False), tmp_path / "run", quiet)
    assert outcome.sender_status == 0
    assert outcome.truth["offload"] is False


def test_stalls_of_frozen_hosts_are_in_log_and_truth(tmp_path: Path) -> None:
    profile = changed(PROFILES["planetlab"], ["loss=0"])
    campaign = replace(PLAIN, profile=profile, sender_host=Host.NAMESPACE)
    check_stalls(campaign, tmp_path, "frozen_host")


def test_stalls_of_a_guest_kernel_are_in_log_and_truth(tmp_path: Path) -> None:
    if kernel.find() is None:
        pytest.skip("no user-mode-linux (Debian: user-mode-linux)")
    campaign = replace(PLAIN, profile=PROFILES["planetlab"], sender_host=Host.GUEST_KERNEL)
    outcome = check_stalls(campaign, tmp_path, "guest_kernel_stop")
    assert outcome.truth["guest"]["kernel"] != os.uname().release
    assert abs(outcome.truth["guest"]["clock_offset_s"]) < 0.05


def check_stalls(campaign: Campaign, folder: Path, kind: str) -> campaign_run.Outcome:
    outcomes: list[campaign_run.Outcome] = []

    def check() -> None:
        run = folder / f"run{len(outcomes)}"
        outcomes.append(campaign_run.run(campaign, run, quiet))
        check_stalls_once(outcomes[-1], run, kind)

    where_it_ran(check, attempts=3)
    return outcomes[-1]


def check_stalls_once(outcome: campaign_run.Outcome, run: Path, kind: str) -> None:
    assert outcome.sender_status == 0
    assert lab_problems(outcome.truth) == []
    stalls = read_stalls(run / "lab/stalls.csv")
    assert {stall.kind for stall in stalls} == {kind}
    assert outcome.truth["stalls"]["count"] == len(stalls) >= 3
    data = lines_of(run / "lab/transfers.jsonl")[-1]
    assert data["stalls"] >= 2
    assert 0 < data["stalled_s"] < outcome.truth["stalls"]["total_s"] + 0.001
    # Nothing of the sender's host enters the path while it stands still.
    entered = [row.time_in_ns for row in read_csv(run / "lab/fates.csv.gz") if row.direction == "forward"]
    for stall in stalls:
        begin, end = stall.start_ns + 15_000_000, stall.start_ns + stall.duration_s * 1e9 - 5_000_000
        assert [at for at in entered if begin < at < end] == []


def test_a_receiver_that_does_not_start_is_reported_and_marked(tmp_path: Path) -> None:
    broken = replace(PLAIN, receiver_program=(sys.executable, "-c", "raise SystemExit('no luck today')"))
    with pytest.raises(CampaignError, match="the receiver did not start: no luck today"):
        campaign_run.run(broken, tmp_path / "run", quiet)
    truth = json.loads((tmp_path / "run/lab/truth.json").read_text())
    assert truth["good"] is False
    assert truth["problems"] == ["the receiver did not start: no luck today"]
    assert own_namespaces(os.getpid()) == []


def test_a_sender_that_fails_makes_the_run_not_good(tmp_path: Path) -> None:
    outcome = campaign_run.run(
        replace(PLAIN, sender_program=(sys.executable, "-c", "raise SystemExit(3)")), tmp_path / "run", quiet
    )
    assert outcome.sender_status == 3
    assert not outcome.good
    assert "the sender ended with status 3" in outcome.truth["problems"]
    assert (tmp_path / "run/lab/truth.json").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine").write_text("mine")
    with pytest.raises(CampaignError, match="is not empty"):
        campaign_run.run(PLAIN, tmp_path / "run", quiet)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("number", "host"),
    [(signal.SIGINT, Host.NAMESPACE), (signal.SIGTERM, Host.NAMESPACE), (signal.SIGINT, Host.GUEST_KERNEL)],
)
def test_an_interrupted_campaign_ends_in_good_order(tmp_path: Path, number: signal.Signals, host: Host) -> None:
    if host is Host.GUEST_KERNEL and kernel.find() is None:
        pytest.skip("no user-mode-linux (Debian: user-mode-linux)")
    profile = "planetlab" if host is Host.GUEST_KERNEL else "clean"
    process = start(tmp_path, profile, host)
    assert len(own_namespaces(process.pid)) == (3 if host is Host.GUEST_KERNEL else 4)
    process.send_signal(number)
    assert process.wait(30) == 130
    truth = json.loads((tmp_path / "run/lab/truth.json").read_text())
    assert truth["good"] is False
    assert sum(truth["fates"]["forward"].values()) > 20  # what was done is known
    with gzip.open(tmp_path / "run/lab/fates.csv.gz") as file:
        assert file.readline().startswith(b"number,")
    assert own_namespaces(process.pid) == []


def start(folder: Path, profile: str, host: Host) -> subprocess.Popen[bytes]:
    """A long campaign in a process of its own, once a first pair is through."""
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path\n"
        "from vmtrace.lab.campaign import run; from vmtrace.lab.campaign.settings import Host\n"
        "from vmtrace.lab.profiles import PROFILES; from tests.lab.test_campaign_run import PLAIN, quiet\n"
        f"campaign = replace(PLAIN, profile=PROFILES[{profile!r}], sender_host=Host({host.value!r}),\n"
        "    sender_arguments=('--repeat', '10000', '--scale', '0.02'))\n"
        f"outcome = run.run(campaign, Path({str(folder / 'run')!r}), quiet)\n"
        "sys.exit(130 if outcome.interrupted else 1)\n"
    )
    environment = module_environment()
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.DEVNULL)
    deadline_s, pairs = time.monotonic() + 90, folder / "run/pairs.jsonl"
    while not (pairs.exists() and pairs.stat().st_size):
        assert process.poll() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    return process

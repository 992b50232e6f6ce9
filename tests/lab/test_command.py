"""The command line of the lab: what it prints, what it hands on, and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts
from vmtrace.lab import command, namespaces
from vmtrace.lab.campaign import run as campaign_run
from vmtrace.lab.campaign.settings import Campaign, CampaignError, Host
from vmtrace.lab.guest import kernel
from vmtrace.lab.profiles import PROFILES


def run(*words: str) -> int:
    return command.run(command.build_parser().parse_args(list(words)))


class Runs:
    """Stands for `campaign_run.run`: notes what it was asked, and ends as it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[Campaign, Path]] = []
        self.problems: list[str] = []
        self.doubtful: list[str] = []
        self.interrupted = 0
        self.error: BaseException | None = None
        monkeypatch.setattr(campaign_run, "run", self)

    def __call__(self, campaign: Campaign, folder: Path, tell: campaign_run.Tell) -> campaign_run.Outcome:
        tell("done")
        self.asked.append((campaign, folder))
        if self.error:
            raise self.error
        error = {"median_s": 0.0001, "p99_s": 0.0002, "max_s": 0.0003, "samples": 7}
        truth: dict[str, Any] = {"good": not self.problems, "problems": self.problems, "doubtful": self.doubtful}
        truth["timing"] = {"delay_error": error}
        return campaign_run.Outcome(truth, 0, self.interrupted)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


def test_list_shows_every_profile_with_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    said = capsys.readouterr().out
    for profile in PROFILES.values():
        assert f"{profile.name}: {profile.summary}" in said
        assert all(line in said for line in profile.numbers())


def test_run_hands_plan_and_path_on(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--plan", "lee2011", "--scale", "0.1", "--repeat", "2", "--seed", "9", "--set", "rtt=80ms", "--no-capture"]
    assert run("run", "clean", "--out", "somewhere", *words) == 0
    ((campaign, folder),) = runs.asked
    assert folder == Path("somewhere")
    assert campaign.sender_arguments == ("--plan", "lee2011", "--scale", "0.1", "--repeat", "2")
    assert (campaign.seed, campaign.capture, campaign.offload) == (9, False, True)
    assert campaign.congestion_control == "cubic"
    assert campaign.profile.base_rtt_s == pytest.approx(0.08)
    said = capsys.readouterr().out
    golden_texts.check("run-hands-plan-and-path-on", said)


def test_a_plan_in_a_file_goes_by_its_whole_path_and_decides_congestion_control(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    run("run", "clean", "--out", "r", "--plan", "mine.toml")
    run("run", "clean", "--out", "r", "--plan", "mine.toml", "--congestion-control", "reno")
    assert runs.asked[0][0].sender_arguments == ("--plan", str(tmp_path / "mine.toml"))
    assert [campaign.congestion_control for campaign, _ in runs.asked] == [None, "reno"]


def test_stalls_take_a_guest_kernel_where_there_is_one(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    for found in ("/usr/bin/linux", None):
        monkeypatch.setattr(kernel, "find", lambda found=found: found)
        run("run", "planetlab", "--out", "r")
    run("run", "lan", "--out", "r")
    run("run", "planetlab", "--out", "r", "--stalls", "none")
    run("run", "planetlab", "--out", "r", "--stalls", "guest-kernel")
    hosts = [campaign.sender_host for campaign, _ in runs.asked]
    assert hosts == [Host.GUEST_KERNEL, Host.NAMESPACE, Host.NAMESPACE, Host.NAMESPACE, Host.GUEST_KERNEL]
    assert [campaign.stalls for campaign, _ in runs.asked] == [True, True, True, False, True]


def test_quiet_says_nothing_and_the_sender_neither(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "lan", "--out", "r", "--quiet") == 0
    assert runs.asked[0][0].sender_arguments == ("--quiet",)
    assert capsys.readouterr() == ("", "")


def test_a_run_beyond_its_bounds_is_refused_with_one_line(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    runs.problems = ["the emulator's delay error was 3 ms"]
    assert run("run", "lan", "--out", "r") == 1
    said = "vmtrace: run discarded as a reference: the emulator's delay error was 3 ms\n"
    assert capsys.readouterr().err == said


def test_a_busy_machine_is_no_failure_and_the_doubtful_figures_are_named(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.problems, runs.doubtful = ["the emulator paused for 33.7 ms in total"], ["RTT of 1 of 8 transfers"]
    assert run("run", "lan", "--out", "r") == 0
    said = "this machine was busy: the emulator paused for 33.7 ms in total. Doubtful: RTT of 1 of 8 transfers."
    assert capsys.readouterr().err == f"vmtrace: {said}\n"


@pytest.mark.parametrize(
    "error", [CampaignError("no"), namespaces.LabUnavailableError("no"), kernel.GuestError("no"), OSError("no")]
)
def test_what_cannot_be_done_is_one_line_and_status_1(
    runs: Runs, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    runs.error = error
    assert run("run", "lan", "--out", "r") == 1
    assert capsys.readouterr().err == "vmtrace: no\n"


@pytest.mark.parametrize("how", ["caught", "raised"])
def test_an_interrupted_run_has_status_130(runs: Runs, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    runs.interrupted, runs.error = (2, None) if how == "caught" else (0, KeyboardInterrupt())
    assert run("run", "lan", "--out", "r") == 130
    assert capsys.readouterr().err.startswith("vmtrace: interrupted")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such"], "no profile no-such: there are lan,"),
        (["lan", "--set", "delay=5"], "the unit must be one of"),
        (["lan", "--stalls", "guest-kernel"], "the profile lan has no stalls"),
        (["planetlab", "--stalls", "guest-kernel", "--ip-version", "6"], "has no IPv6"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    runs: Runs, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert run("run", *words, "--out", "r") == 2
    assert said in capsys.readouterr().err
    assert runs.asked == []


def test_scenarios_are_listed_and_unknown_ones_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("scenario", "--list") == 0
    assert "loss1-cubic-rtt20" in capsys.readouterr().out
    assert run("scenario", "no-such", "--out", "r") == 2
    assert "no scenario no-such" in capsys.readouterr().err

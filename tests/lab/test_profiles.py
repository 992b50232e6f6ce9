"""Profiles: what they promise, how they print, and single numbers changed."""

from __future__ import annotations

import pytest

from vmtrace.lab.impairments import Hold, Impairments
from vmtrace.lab.profiles import PROFILES
from vmtrace.lab.profiles.overrides import changed
from vmtrace.lab.profiles.profile import Profile

PROMISED = {"lan", "ec2-micro-to-campus", "planetlab", "bufferbloat", "token-bucket", "satellite"}
CARRIED_BPS = 150e6


def test_the_promised_profiles_are_there() -> None:
    assert set(PROFILES) >= PROMISED


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_a_profile_says_why_and_stays_within_what_the_emulator_carries(profile: Profile) -> None:
    assert len(profile.why) > 80
    assert "\n" not in profile.summary
    for way in (profile.forward, profile.reverse):
        assert 0 < way.rate_bps <= CARRIED_BPS
        assert way.queue_bytes >= 20 * profile.mtu
    assert profile.numbers()[0].startswith("round trip ")


def test_the_study_s_path_has_its_round_trip_and_loss() -> None:
    profile = PROFILES["ec2-micro-to-campus"]
    assert profile.base_rtt_s == pytest.approx(0.2096)
    mean_s = profile.base_rtt_s + (profile.forward.jitter_s + profile.reverse.jitter_s) / 2
    assert mean_s == pytest.approx(0.213, abs=0.0005)
    assert 0.004 < profile.forward.loss < 0.017
    assert profile.stalls is None


def test_planetlab_stalls_most_of_the_time_and_loses_nothing_on_the_way() -> None:
    profile = PROFILES["planetlab"]
    assert profile.base_rtt_s == pytest.approx(0.022)
    assert profile.stalls is not None
    assert 0.5 < profile.stalls.share < 0.9
    assert profile.forward.loss == 0
    assert any(line.startswith("stalls of the sending host: 100 ms to 700 ms") for line in profile.numbers())


def test_every_impairment_is_reported() -> None:
    way = Impairments(
        delay_s=0.01, jitter_s=0.002, jitter_keeps_order=False, loss=0.01, duplicate=0.02, corrupt=0.03, reorder=0.04,
        reorder_delay_s=0.005, duplicate_delay_s=0.03, drop_packets=(1, 2),
        holds=(Hold(1.0, 0.5), Hold(3.0, 0.1, drop=True)),
    )  # fmt: skip
    text = "; ".join(Profile("mine", "", "", way, Impairments()).numbers())
    for words in (
        "round trip 10 ms", "jitter up to 2 ms, may reorder", "loss 1 %",
        "duplication 2 %, up to 30 ms later", "corruption 3 %",
        "reordering 4 % by 5 ms", "loss of 2 chosen packets", "hold of 500 ms at 1 s", "blackout of 100 ms at 3 s",
        "to sender: nothing",
    ):  # fmt: skip
        assert words in text


def test_single_numbers_are_changed_in_one_or_both_directions() -> None:
    profile = changed(
        PROFILES["clean"], ["delay=20ms", "forward.loss=0.5%", "reverse.loss=0.25", "rate=1.5 Mbit/s", "queue=64KiB"]
    )
    assert (profile.forward.delay_s, profile.reverse.delay_s) == (0.02, 0.02)
    assert profile.forward.loss == pytest.approx(0.005)
    assert profile.reverse.loss == 0.25
    assert (profile.forward.rate_bps, profile.reverse.queue_bytes) == (1.5e6, 65536)
    assert changed(profile, ["rtt=30ms"]).base_rtt_s == pytest.approx(0.03)
    assert PROFILES["clean"].forward.delay_s == 0.01


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("delay", "NAME=NUMBER"),
        ("colour=1", "one of rtt, delay"),
        ("delay=20", "unit must be one of s, ms, us"),
        ("loss=2", "at most 100 %"),
        ("loss=-1%", "NAME=NUMBER"),
        ("forward.rtt=1ms", "no direction"),
        ("sideways.delay=1ms", "NAME=NUMBER"),
    ],
)
def test_nonsense_is_reported_in_one_line(setting: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as shown:
        changed(PROFILES["clean"], [setting])
    assert "\n" not in str(shown.value)

"""What time services say, by texts of their own, and when there is none."""

from collections.abc import Sequence

import pytest

from vmtrace.providers.clock_sync import clock_offset, of_chrony, of_ntpd, of_timesyncd

CHRONY = (
    "A29FC801,162.159.200.1,4,1700000000.123,-0.000123456,0.000100000,0.000200000,-1.2,0.0,0.1,"
    "0.020,0.001,64.0,Normal\n"
)
TIMESYNCD = """       Server: 162.159.200.123 (0.debian.pool.ntp.org)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
Root distance: 1.541ms (max: 5s)
       Offset: -3.211ms
        Delay: 19.1ms
"""
NTPD = "associd=0 leap_none, sync_ntp,\nrootdelay=20.0, rootdisp=5.0, stratum=3, offset=-0.250, frequency=1\n"


def test_chrony_says_how_far_the_clock_is_behind() -> None:
    found = of_chrony(CHRONY)
    assert found is not None
    assert (found.source, found.synchronised) == ("chrony", True)
    assert found.offset_s == pytest.approx(0.000123456)
    assert found.error_s == pytest.approx(0.011)


def test_timesyncd_and_ntpd_say_how_far_the_server_is_ahead() -> None:
    for found, offset_s, error_s in ((of_timesyncd(TIMESYNCD), 0.003211, 0.001541), (of_ntpd(NTPD), 0.00025, 0.015)):
        assert found is not None
        assert found.offset_s == pytest.approx(offset_s)
        assert found.error_s == pytest.approx(error_s)


@pytest.mark.parametrize("text", ["", "506 Cannot talk to daemon", "a,b,c", "Offset", "offset=x"])
def test_other_texts_say_nothing(text: str) -> None:
    assert of_chrony(text) is None
    assert of_timesyncd(text) is None
    assert of_ntpd(text) is None


def test_the_first_service_that_answers_counts_and_else_the_kernel() -> None:
    asked: list[str] = []

    def run(words: Sequence[str]) -> str | None:
        asked.append(words[0])
        return TIMESYNCD if words[0] == "timedatectl" else None

    assert clock_offset(run).source == "timesyncd"
    assert asked == ["chronyc", "timedatectl"]
    alone = clock_offset(lambda _: None)
    assert (alone.source, alone.offset_s) == ("kernel", None)

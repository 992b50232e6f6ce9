"""The round trip of a path is the same wherever it was captured, and is not made up from one host's own delay."""

import pytest

from vmtrace.analyze.words.path_rtt import median_of_path_s, path_rtt_min_s

FORTH, BACK = "client_to_server", "server_to_client"


def row(
    forth: float | None,
    back: float | None,
    handshake: float | None = None,
    median: float | None = None,
    vantage: str = "unknown",
) -> dict[str, float | str | None]:
    return {
        "vantage_side": vantage,
        f"{FORTH}_rtt_min_s": forth,
        f"{BACK}_rtt_min_s": back,
        f"{FORTH}_rtt_median_s": median,
        "handshake_rtt_s": handshake,
    }


@pytest.mark.parametrize(("forth", "back"), [(0.04, 0.000005), (0.000005, 0.04), (0.025, 0.015005)])
def test_the_halves_make_the_same_path_at_either_end_and_between(forth: float, back: float) -> None:
    assert path_rtt_min_s(row(forth, back)) == pytest.approx(0.040005)


def test_the_handshake_counts_where_it_is_shorter_or_alone() -> None:
    assert path_rtt_min_s(row(0.030, 0.020, handshake=0.040)) == 0.040
    assert path_rtt_min_s(row(0.000005, None, handshake=0.040)) == 0.040
    assert path_rtt_min_s(row(0.020, 0.000005, handshake=0.040)) == pytest.approx(0.020005)


def test_one_half_alone_is_no_path() -> None:
    assert path_rtt_min_s(row(0.000005, None)) is None
    assert path_rtt_min_s(row(None, None)) is None
    assert path_rtt_min_s(row(0.000005, None, vantage="server")) is None


def test_at_the_sender_its_direction_alone_is_the_path() -> None:
    assert path_rtt_min_s(row(0.040, None, vantage="client")) == 0.040
    assert path_rtt_min_s(row(None, 0.040, vantage="server")) == 0.040


def test_the_median_of_a_hosts_own_delay_is_not_the_paths() -> None:
    assert median_of_path_s(row(0.000005, None, handshake=0.040, median=0.00001), FORTH) is None
    assert median_of_path_s(row(0.040, None, handshake=0.040, median=0.043), FORTH) == 0.043
    assert median_of_path_s(row(0.040, None, median=0.043), FORTH) is None
    assert median_of_path_s(row(0.040, None, median=0.043, vantage="client"), FORTH) == 0.043
    assert median_of_path_s(row(None, None), FORTH) is None

"""The table of published bandwidths: sound, sourced, and silent where nothing is published."""

import re

import pytest

from vmtrace.analyze.findings.allowances import published


def test_a_burstable_type_has_a_baseline_and_a_burst() -> None:
    allowance = published.of_instance_type("m5.large")
    assert (allowance.baseline_bps, allowance.burst_bps, allowance.single_flow_bps) == (0.75e9, 10e9, 5e9)
    assert "general-purpose-instances.md" in allowance.source


def test_a_connection_has_no_more_than_a_burst_and_a_single_flow() -> None:
    most = [published.of_instance_type(name).most_of_a_connection_bps for name in ("m5.large", "t3.nano")]
    assert most == [5e9, 5e9]
    assert published.of_rate(1e6).most_of_a_connection_bps == 1e6


def test_a_large_type_has_one_bandwidth() -> None:
    allowance = published.of_instance_type(" C5.9xlarge ")
    assert (allowance.name, allowance.baseline_bps, allowance.burst_bps) == ("c5.9xlarge", 12e9, 12e9)


@pytest.mark.parametrize("name", ["m99.large", "", "m5", "p4d.24xlarge"])
def test_what_is_not_published_as_a_number_is_unknown(name: str) -> None:
    with pytest.raises(published.UnknownInstanceTypeError):
        published.of_instance_type(name)


def test_every_row_is_sound() -> None:
    names = published.known_types()
    assert len(names) > 500
    for name in names:
        allowance = published.of_instance_type(name)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)?\.[a-z0-9-]+", name), name
        assert 0 < allowance.baseline_bps <= allowance.burst_bps <= 100e9, name

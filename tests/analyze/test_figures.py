"""Figures: one of each kind, in each format, whatever the connection lacks."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from vmtrace.analyze.charts.figures.kinds import KINDS, draw
from vmtrace.analyze.charts.figures.write import write_figures
from vmtrace.analyze.charts.packet_series import Series, of_connections
from vmtrace.analyze.trace import read


def test_a_connection_gets_every_kind_in_every_format(transfer: Any, tmp_path: Path) -> None:
    written = write_figures(of_connections(read(transfer.bytes()), [1]), tmp_path / "figures")
    assert sorted(path.name for path in written) == sorted(
        f"connection-1-{kind}.{form}"
        for kind in ("time-sequence", "rtt", "spacing", "window", "throughput")
        for form in ("png", "svg")
    )
    for path in written:
        assert path.stat().st_mode & 0o777 == 0o600
        if path.suffix == ".png":
            width, height = struct.unpack(">II", path.read_bytes()[16:24])
            assert (width, height) == (1400, 760)
        else:
            assert ET.parse(path).getroot().tag.endswith("svg")


def test_axes_say_what_they_show_and_in_which_unit(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    for kind in KINDS:
        axes: Any = draw(kind, series).axes[0]
        assert axes.get_xlabel() == "time since the connection's first packet"
        assert axes.get_ylabel()
        assert "10.0.0.1:40000" in axes.get_title("left")
        assert axes.yaxis.get_major_formatter().unit in ("B", "s", "bit/s")


def test_retransmissions_stand_out(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    lines: dict[object, Any] = {line.get_label(): line for line in draw("time-sequence", series).axes[0].lines}
    assert len(lines["retransmission"].get_xdata()) == 1
    assert lines["retransmission"].get_marker() == "x"
    assert lines["retransmission"].get_color() != lines["data"].get_color()


def test_kinds_of_packets_differ_in_colour_or_marker(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    one = Series(np.array([0.0]), np.array([1.0]))
    lines = draw("time-sequence", replace(series, sent=dict.fromkeys(series.sent, one))).axes[0].lines
    looks = [(line.get_color(), line.get_marker()) for line in lines if line.get_linestyle() == "None"]
    assert len(set(looks)) == len(looks) == len(series.sent)


@pytest.mark.parametrize("kept", [1, 3], ids=["a SYN alone", "a handshake alone"])
def test_a_connection_without_data_still_gets_figures_that_say_so(transfer: Any, tmp_path: Path, kept: int) -> None:
    del transfer.records[kept:]
    series = list(of_connections(read(transfer.bytes()), [1]))
    assert len(write_figures(series, tmp_path, formats=["svg"])) == 5
    texts = [text.get_text() for kind in KINDS for text in draw(kind, series[0]).axes[0].texts]
    assert "no data was sent" in texts


def test_the_same_capture_gives_the_same_figure(transfer: Any, tmp_path: Path) -> None:
    series = list(of_connections(read(transfer.bytes()), [1]))
    one, two = (write_figures(series, tmp_path / name, formats=["svg"]) for name in "ab")
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]

"""One row each second, whole or not at all; a later session goes on in the same file if the columns agree."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace.capture import host_counters
from vmtrace.capture.counters import cpu, nic, pressure, softnet, tcp
from vmtrace.capture.counters.source import Reading, Source, Where, all_sources, read_all
from vmtrace.capture.host_counters import OWN_COLUMNS, SCHEMA, HostCounters
from vmtrace.formats.provenance import Table, read_table
from vmtrace.lab import namespaces

ROOT = Path(__file__).parents[2]


class Scripted(Source):
    """A source whose readings the test gives; at their end the last stays."""

    def __init__(self, *readings: Reading) -> None:
        super().__init__(Where())
        self.readings = list(readings)
        self.closed = 0

    def read(self) -> Reading:
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def give(*readings: Reading) -> Scripted:
        source = Scripted(*readings)
        monkeypatch.setattr(host_counters, "all_sources", lambda _: [source])
        return source

    return give


def cells(table: Table, *columns: str) -> list[tuple[str, ...]]:
    places = [table.columns.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in table.rows]


def test_rows_hold_the_counters_as_they_stand_and_a_lost_one_is_an_empty_cell(
    tmp_path: Path, scripted: Callable[..., Scripted]
) -> None:
    source = scripted({"a": 1, "b_s": 0.25}, {"a": 2, "b_s": 0.5}, {"b_s": 1e-9, "new": 4})
    counters = HostCounters(tmp_path / "sender.csv", 0.002)
    counters.start()
    assert eventually(lambda: counters.rows >= 3, within_s=10)
    outcome = counters.stop()
    table = read_table(tmp_path / "sender.csv", SCHEMA)
    assert table.columns == ("time_ns", "sampler_cpu_s", "a", "b_s")
    assert cells(table, "a", "b_s")[:3] == [("1", "0.25"), ("2", "0.5"), ("", "0")]
    assert (outcome.path, outcome.rows, outcome.error) == (tmp_path / "sender.csv", len(table.rows), None)
    assert source.closed == 1
    assert stat.S_IMODE(outcome.path.stat().st_mode) == 0o600
    times = [int(time_ns) for (time_ns,) in cells(table, "time_ns")]
    assert times == sorted(times)


def test_a_short_recording_has_a_row_from_its_start_and_one_from_its_end(tmp_path: Path) -> None:
    with HostCounters(tmp_path / "sender.csv", interface="lo"):
        pass
    assert len(read_table(tmp_path / "sender.csv", SCHEMA).rows) == 2


def test_a_later_session_goes_on_in_the_same_file_behind_a_torn_row(
    tmp_path: Path, scripted: Callable[..., Scripted]
) -> None:
    path = tmp_path / "sender.csv"
    for number in (1, 2):
        scripted({"a": number})
        HostCounters(path, 60).__enter__().stop()
        with path.open("a") as file:
            file.write("17000,0.1")  # kill -9 in the midst of a row
    assert path.read_text().count("time_ns") == 1
    assert cells(read_table(path, SCHEMA), "a") == [("1",), ("1",), ("2",), ("2",)]
    assert list(tmp_path.iterdir()) == [path]


def test_a_session_with_other_columns_begins_a_file_of_its_own(
    tmp_path: Path, scripted: Callable[..., Scripted]
) -> None:
    path = tmp_path / "sender.csv"
    for reading in ({"a": 1}, {"b": 2}, {"a": 3}, {"b": 4}):
        scripted(reading)
        HostCounters(path, 60).__enter__().stop()
    assert cells(read_table(path, SCHEMA), "a") == [("1",), ("1",), ("3",), ("3",)]
    assert cells(read_table(tmp_path / "sender-2.csv", SCHEMA), "b") == [("2",), ("2",), ("4",), ("4",)]


def test_a_file_that_is_no_table_is_left_alone(tmp_path: Path, scripted: Callable[..., Scripted]) -> None:
    scripted({"a": 1})
    (tmp_path / "sender.csv").write_text("somebody's notes")
    outcome = HostCounters(tmp_path / "sender.csv", 60).__enter__().stop()
    assert outcome.path == tmp_path / "sender-2.csv"
    assert (tmp_path / "sender.csv").read_text() == "somebody's notes"


def test_a_folder_that_is_not_there_is_reported_at_the_start(tmp_path: Path, scripted: Callable[..., Scripted]) -> None:
    source = scripted({"a": 1})
    counters = HostCounters(tmp_path / "gone" / "sender.csv")
    with pytest.raises(FileNotFoundError, match=r"gone/sender\.csv"):
        counters.start()
    assert source.closed == 1
    assert counters.stop().rows == 0


def test_a_full_disk_ends_the_recording_with_one_line_and_whole_rows(tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys, time\nfrom pathlib import Path\nfrom capture.host_counters import HostCounters\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ncounters = HostCounters(Path(sys.argv[1]), 0.002)\n"
        "counters.start()\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "until = time.monotonic() + 10\n"
        "while counters.error is None and time.monotonic() < until: time.sleep(0.01)\n"
        "print(counters.stop().error)\n"
    )
    path = tmp_path / "sender.csv"
    command = [sys.executable, "-c", program, str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{path}: {os.strerror(errno.EFBIG)}: no host counters from here on\n"
    text = path.read_text()
    assert text.endswith("\n")
    assert len(read_table(path, SCHEMA).rows) >= 2


def test_a_recording_costs_little_and_says_how_much(tmp_path: Path) -> None:
    counters = HostCounters(tmp_path / "sender.csv", 0.02, "lo")
    counters.start()
    assert eventually(lambda: counters.rows >= 10, within_s=10)
    outcome = counters.stop()
    assert 0 < outcome.cpu_s / outcome.rows < 0.02  # a second's sample takes about 1 ms
    said = [float(said_s) for (said_s,) in cells(read_table(outcome.path, SCHEMA), "sampler_cpu_s")]
    assert said == sorted(said)
    assert said[-1] == pytest.approx(outcome.cpu_s, abs=0.05)


def test_an_interval_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must be more than 0"):
        HostCounters(tmp_path / "sender.csv", 0)


@pytest.mark.root
def test_counters_are_those_of_the_namespace_it_was_started_in_and_outlive_the_interface(tmp_path: Path) -> None:
    name = namespaces.namespace_name("counters", 0)
    namespaces.create(name)
    try:
        namespaces.run_program(["ip", "-n", name, "link", "add", "only0", "type", "veth", "peer", "only1"])
        counters = HostCounters(tmp_path / "sender.csv", 0.01, "only0")
        with namespaces.inside(name):
            counters.start()
        assert eventually(lambda: counters.rows >= 2, within_s=10)
        namespaces.run_program(["ip", "-n", name, "link", "delete", "only0"])
        gone = counters.rows + 2
        assert eventually(lambda: counters.rows >= gone, within_s=10)
        outcome = counters.stop()
    finally:
        namespaces.delete(name)
    table = read_table(outcome.path, SCHEMA)
    assert outcome.error is None
    first, last = cells(table, "interface_rx_bytes", "nic_peer_ifindex", "tcp_OutSegs", "cpu_user_s")[
        :: len(table.rows) - 1
    ]
    assert (first[0], first[2]) == ("0", "0")  # this machine has sent something, the new namespace nothing
    assert first[1] != ""
    assert last[:2] == ("", "")
    assert float(last[3]) > 0


def documented() -> list[re.Pattern[str]]:
    """The columns of the table in the document; a part in capitals stands for any."""
    text = (ROOT / "docs/capture.md").read_text().split("\n## Host counters\n")[1].split("\n### ")[0]
    first = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    names = [name for cell in first for name in re.findall(r"`([^`]+)`", cell)]
    assert len(names) > 40
    return [re.compile(re.sub(r"NAME", "[A-Za-z0-9_]+", re.sub(r"\bcpuN", r"cpu\\d+", name))) for name in names]


def test_every_column_of_this_machine_is_documented() -> None:
    patterns = documented()
    for interface in (path.name for path in Path("/sys/class/net").iterdir() if path.is_dir()):
        sources = all_sources(Where(interface))
        columns = [*OWN_COLUMNS, *read_all(sources)]
        for source in sources:
            source.close()
        assert [name for name in columns if not any(pattern.fullmatch(name) for pattern in patterns)] == []


def test_every_documented_column_is_one_of_a_source() -> None:
    ticks = "cpu " + "1 " * len(cpu.STATES)
    real: set[str] = {*OWN_COLUMNS, "swap_free_bytes", "tcp_RetransSegs", "tcpext_TCPTimeouts", "nic_rx_drops"}
    real |= set(cpu.parse(f"{ticks}\n{ticks.replace('cpu', 'cpu0')}\nctxt 1\nprocs_running 1\nprocs_blocked 1\n", 100))
    for resource in pressure.RESOURCES:
        real |= set(pressure.parse(resource, "some avg10=0 total=1\nfull avg10=0 total=1\n"))
    real |= set(softnet.parse("0 " * 13)) | set(tcp.parse("Tcp: OutSegs\nTcp: 1\n"))
    ena = ("bw_in", "bw_out", "pps", "conntrack", "linklocal")
    real |= set(
        nic.columns_of({f"{name}_allowance_exceeded": 1 for name in ena} | {"conntrack_allowance_available": 1})
    )
    sources = all_sources(Where("lo"))
    real |= set(read_all(sources))
    for source in sources:
        source.close()
    assert [pattern.pattern for pattern in documented() if not any(map(pattern.fullmatch, real))] == []

"""Each source reads the kernel's text as documented; what is missing or odd is left out, and never raises."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipapp
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmtrace.capture import link
from vmtrace.capture.clock import ClockReading, ClockWatch
from vmtrace.capture.counters import clock, cpu, load, memory, nic, pressure, softnet, tcp, throttled
from vmtrace.capture.counters.source import Reading, TextFile, Where, all_sources, numbers, pick, read_all
from vmtrace.lab import cpu_quota

ROOT = Path(__file__).parents[3]

STAT = """\
cpu  1000 20 300 4000 50 6 70 80 9 1
cpu0 600 10 100 1500 25 3 60 70 9 1
cpu1 400 10 200 2500 25 3 10 10 0 0
intr 12345 0 1 2
ctxt 777
btime 1700000000
procs_running 3
procs_blocked 1
"""
PRESSURE = """\
some avg10=1.53 avg60=0.87 avg300=0.73 total=1055674
full avg10=0.00 avg60=0.00 avg300=0.00 total=250
"""
SOFTNET = """\
000000ff 00000002 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000003 00000000 00000000
00000001 00000005 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001
"""
SNMP = """\
Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs
Tcp: 1 -1 500 7
"""
NETSTAT = """\
TcpExt: SyncookiesSent TCPLossProbes
TcpExt: 0 4
IpExt: InNoRoutes
IpExt: 9
"""
THROTTLED = """\
usage_usec 9000000
nr_periods 100
nr_throttled 40
throttled_usec 2500000
"""
PARSERS: dict[str, Callable[[str], Reading]] = {
    "cpu": lambda text: cpu.parse(text, 100),
    "pressure": lambda text: pressure.parse("io", text),
    "load": load.parse,
    "memory": memory.parse,
    "softnet": softnet.parse,
    "tcp": tcp.parse,
    "throttled": throttled.parse,
}


def test_cpu_time_is_in_seconds_by_state_and_by_processor() -> None:
    assert cpu.parse(STAT, 100) == {
        "cpu_user_s": 10.0, "cpu_nice_s": 0.2, "cpu_system_s": 3.0, "cpu_idle_s": 40.0, "cpu_iowait_s": 0.5,
        "cpu_irq_s": 0.06, "cpu_softirq_s": 0.7, "cpu_steal_s": 0.8, "cpu_guest_s": 0.09, "cpu_guest_nice_s": 0.01,
        "cpu0_idle_s": 15.0, "cpu0_softirq_s": 0.6, "cpu0_steal_s": 0.7,
        "cpu1_idle_s": 25.0, "cpu1_softirq_s": 0.1, "cpu1_steal_s": 0.1,
        "context_switches": 777, "processes_running": 3, "processes_blocked": 1,
    }  # fmt: skip


def test_a_kernel_without_steal_leaves_it_out() -> None:
    assert cpu.parse("cpu 100 0 200 300\n", 100) == {
        "cpu_user_s": 1.0,
        "cpu_nice_s": 0.0,
        "cpu_system_s": 2.0,
        "cpu_idle_s": 3.0,
    }


def test_of_many_processors_only_the_total_is_kept() -> None:
    many = "".join(f"cpu{number} 1 1 1 1 1 1 1 1\n" for number in range(cpu.MOST_CPUS + 1))
    assert set(cpu.parse("cpu 1 1 1 1 1 1 1 1\n" + many, 100)) == {f"cpu_{state}_s" for state in cpu.STATES[:8]}


def test_pressure_is_the_total_in_seconds() -> None:
    assert pressure.parse("io", PRESSURE) == {"pressure_io_some_s": 1.055674, "pressure_io_full_s": 0.00025}


def test_load() -> None:
    assert load.parse("2.41 1.52 0.92 5/106 3589\n") == {
        "load_1min": 2.41,
        "load_5min": 1.52,
        "load_15min": 0.92,
        "tasks_runnable": 5,
        "tasks": 106,
    }


def test_memory_is_in_bytes() -> None:
    text = "MemTotal:  2000 kB\nMemFree:  100 kB\nMemAvailable:    1500 kB\nHugePages_Total:    3\n"
    assert memory.parse(text) == {"memory_available_bytes": 1_536_000, "memory_free_bytes": 102_400}


def test_softnet_counts_are_hexadecimal_summed_and_of_the_worst_processor() -> None:
    assert softnet.parse(SOFTNET) == {
        "softnet_processed": 256, "softnet_processed_worst_cpu": 255,
        "softnet_dropped": 7, "softnet_dropped_worst_cpu": 5,
        "softnet_time_squeeze": 1, "softnet_time_squeeze_worst_cpu": 1,
        "softnet_flow_limit": 3, "softnet_flow_limit_worst_cpu": 3,
    }  # fmt: skip


def test_an_older_kernel_s_softnet_has_no_flow_limit() -> None:
    assert "softnet_flow_limit" not in softnet.parse("0000000a 00000000 00000001 00000000\n")
    assert softnet.parse("0000000a 00000000 00000001 00000000\n")["softnet_processed"] == 10


def test_tcp_counters_keep_the_kernel_s_names() -> None:
    assert tcp.parse(SNMP) == {"tcp_RtoAlgorithm": 1, "tcp_MaxConn": -1, "tcp_OutSegs": 500, "tcp_RetransSegs": 7}
    assert tcp.parse(NETSTAT) == {"tcpext_SyncookiesSent": 0, "tcpext_TCPLossProbes": 4}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("bw_in_allowance_exceeded", "nic_bw_in_allowance_exceeded"),
        ("linklocal_allowance_exceeded", "nic_linklocal_allowance_exceeded"),
        ("queue_3_tx_cnt", "nic_queue_N_tx_cnt"),  # ena
        ("rx0_kicks", "nic_rxN_kicks"),  # virtio_net
        ("rx_queue_12_bytes", "nic_rx_queue_N_bytes"),  # ixgbe, veth
        ("tx_wake[3]", "nic_tx_wake_N"),  # gve
        ("[7]: rx_ucast_packets", "nic_N_rx_ucast_packets"),  # bnxt_en
        ("cpu4_tx_packets", "nic_cpuN_tx_packets"),  # hv_netvsc
        ("rx_65_to_127_byte_packets", "nic_rx_65_to_127_byte_packets"),  # a size and no queue
        ("tx_prio0_pause", "nic_tx_prio0_pause"),
        ("ünk,nown\n", "nic_nk_nown"),
    ],
)
def test_a_driver_s_counter_becomes_a_column(name: str, column: str) -> None:
    assert nic.columns_of({name: 5}) == {column: 5}


def test_counters_of_queues_are_summed_and_there_is_a_limit_to_columns() -> None:
    assert nic.columns_of({f"queue_{number}_tx_cnt": number for number in range(5)}) == {"nic_queue_N_tx_cnt": 10}
    assert len(nic.columns_of({f"a{number}": 1 for number in range(5000)})) == nic.MOST_COLUMNS


@given(st.dictionaries(st.text(), st.integers(0, 2**64 - 1), max_size=20))
def test_any_driver_s_names_make_columns_of_a_csv_file(statistics: dict[str, int]) -> None:
    columns = nic.columns_of(statistics)
    assert all(column.isascii() and column.replace("_", "").isalnum() for column in columns)
    assert sum(columns.values()) == sum(statistics.values())


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@given(text=st.text())
@example(text=STAT)
@example(text="cpu \ncpu0\ncpux 1\nctxt\nprocs_running two\n")
@example(text="Tcp: a,b\nTcp: 1\nTcp: \n")
@example(text="some total=٣\n")
@example(text=SOFTNET)
def test_any_text_is_read_without_an_exception(parse: Callable[[str], Reading], text: str) -> None:
    for column, value in parse(text).items():
        assert column.isascii()
        assert column.replace("_", "").isalnum()
        assert isinstance(value, (int, float))


@pytest.mark.parametrize("parse", PARSERS.values(), ids=PARSERS)
@given(data=st.data())
def test_text_cut_anywhere_gives_no_other_column(parse: Callable[[str], Reading], data: st.DataObject) -> None:
    loadavg, meminfo = "0.10 0.20 0.30 1/100 42\n", "MemFree:  100 kB\nMemAvailable:    1500 kB\n"
    text = data.draw(st.sampled_from([STAT, PRESSURE, SOFTNET, SNMP, NETSTAT, THROTTLED, loadavg, meminfo]))
    cut = text[: data.draw(st.integers(0, len(text)))]
    assert set(parse(cut)) <= set(parse(text))


def test_a_quota_of_any_group_the_program_is_in_counts(tmp_path: Path) -> None:
    root = fake_root(tmp_path)
    own = "3:cpu,cpuacct:/pod/container\n2:memory:/pod\n0::/\n"
    (root / "proc/self").mkdir()
    (root / "proc/self/cgroup").write_text(own)
    groups = root / "sys/fs/cgroup/cpu,cpuacct"
    (groups / "pod/container").mkdir(parents=True)
    (groups / "pod/container/cpu.stat").write_text("nr_periods 9\nnr_throttled 4\nthrottled_time 1500000000\n")
    (groups / "pod/cpu.stat").write_text("nr_periods 9\nnr_throttled 1\nthrottled_time 500000000\n")
    (root / "sys/fs/cgroup/cpu.stat").write_text("usage_usec 5\n")
    source = throttled.SOURCE(Where(root=root))
    assert source.read() == {"throttled_periods": 5, "throttled_s": 2.0}
    source.close()
    assert source.read() == {}


def test_a_container_that_sees_its_group_as_the_topmost_is_read(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/docker/0123\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.stat").write_text(THROTTLED)
    assert throttled.SOURCE(Where(root=tmp_path)).read() == {"throttled_periods": 40, "throttled_s": 2.5}


READ_WITHIN_A_QUOTA = """
import time
from vmtrace.capture.counters.source import Where
from vmtrace.capture.counters.throttled import SOURCE
source, began_s = SOURCE(Where()), time.monotonic()
before_s, throttled_s = source.read()["throttled_s"], 0.0
while throttled_s < 0.3 and time.monotonic() < began_s + 30:
    throttled_s = source.read()["throttled_s"] - before_s
print(throttled_s, time.monotonic() - began_s)
"""


@pytest.mark.skipif(cpu_quota.missing_requirement() is not None, reason=str(cpu_quota.missing_requirement()))
def test_the_kernel_s_own_quota_is_seen() -> None:
    with cpu_quota.quota("counted", 0.25) as words:
        command = [*words, sys.executable, "-c", READ_WITHIN_A_QUOTA]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT)
    throttled_s, spent_s = map(float, done.stdout.split())
    assert 0.3 <= throttled_s < spent_s, "three quarters of the time on a machine of its own, less where others run"


def fake_root(folder: Path) -> Path:
    for name, text in {
        "proc/stat": STAT,
        "proc/pressure/io": PRESSURE,
        "proc/loadavg": "0.10 0.20 0.30 1/100 42\n",
        "proc/meminfo": "MemAvailable:    1500 kB\n",
        "proc/thread-self/net/softnet_stat": SOFTNET,
        "proc/thread-self/net/snmp": SNMP,
        "proc/thread-self/net/netstat": NETSTAT,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_all_sources_are_found_and_read_together(tmp_path: Path) -> None:
    sources = all_sources(Where(root=fake_root(tmp_path)))
    try:
        assert [type(source).__name__ for source in sources] == [
            "Clock", "Cpu", "Interface", "Load", "Memory", "Nic", "Pressure", "RunDelay", "Softnet", "Tcp",
            "Throttled",
        ]  # fmt: skip
        reading = read_all(sources)
    finally:
        for source in sources:
            source.close()
    assert reading["tcp_RetransSegs"] == 7
    assert reading["tcpext_TCPLossProbes"] == 4
    assert reading["pressure_io_some_s"] == 1.055674
    assert "pressure_cpu_some_s" not in reading  # no such file
    assert not [column for column in reading if column.startswith(("interface_", "nic_"))]  # no interface asked for


def test_where_there_is_nothing_to_read_nothing_is_said(tmp_path: Path) -> None:
    sources = all_sources(Where(interface="nosuch0", root=tmp_path))
    try:
        assert read_all(sources) == {"clock_stepped_s": 0.0}
    finally:
        for source in sources:
            source.close()


def test_the_sources_of_this_machine_have_numbers_for_loopback() -> None:
    sources = all_sources(Where(interface="lo"))
    try:
        reading = read_all(sources)
        again = read_all(sources)
    finally:
        for source in sources:
            source.close()
    assert list(again) == list(reading)
    assert [name for name in link.STATISTICS if f"interface_{name}" not in reading] == []
    assert reading["cpu_user_s"] > 0
    assert again["cpu_idle_s"] >= reading["cpu_idle_s"]
    assert again["tcp_OutSegs"] >= reading["tcp_OutSegs"]
    assert reading["memory_available_bytes"] > 1_000_000


def test_sources_are_found_in_a_zip_file_too(tmp_path: Path) -> None:
    for room in ("capture", "formats"):
        shutil.copytree(ROOT / room, tmp_path / "app/vmtrace" / room)
    shutil.copy(ROOT / "vmtrace/__init__.py", tmp_path / "app/vmtrace")
    (tmp_path / "app" / "__main__.py").write_text(
        "from vmtrace.capture.counters.source import Where, all_sources\n"
        "import vmtrace.capture.counters\nassert '.pyz' in vmtrace.capture.counters.__file__\n"
        "print(len(all_sources(Where())))\n"
    )
    zipapp.create_archive(tmp_path / "app", tmp_path / "app.pyz")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-I", str(tmp_path / "app.pyz")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "11\n"


def test_a_step_of_the_clock_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter(ClockReading(wall, 0, 10) for wall in (0, 0, 3_000_000_000, 1_000_000_000))
    monkeypatch.setattr(clock, "ClockWatch", lambda: ClockWatch(lambda: next(readings)))
    source = clock.SOURCE(Where())
    assert [source.read()["clock_stepped_s"] for _ in range(3)] == [0.0, 3.0, 1.0]


def test_a_file_larger_than_one_read_is_whole_and_a_closed_one_empty(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 200_000)
    file = TextFile(tmp_path / "large")
    assert len(file.text()) == 200_000
    file.close()
    file.close()
    assert file.text() == TextFile(tmp_path / "absent").text() == ""


def test_helpers_of_the_parsers() -> None:
    assert numbers(["1", "-2"]) == [1, -2]
    assert numbers(["1", "x"]) is None
    assert pick({"A": 1, "B": 2}, {"A": "a", "C": "c"}) == {"a": 1}

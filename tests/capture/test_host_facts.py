"""A host's facts are read from the kernel's files; what is not there is null, and the whole is plain JSON."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.host_facts import SCHEMA, _cpu, _memory_bytes, _numbers, _system, _virtualisation, host_facts
from vmtrace.capture.instance_metadata import SETTING

FILES = {
    "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "proc/cpuinfo": (
        "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz\ncpu MHz\t\t: 2499.998\n"
        "flags\t\t: fpu vme hypervisor lahf_lm\n"
    ),
    "proc/meminfo": "MemTotal:        1000 kB\nMemFree:  1 kB\n",
    "sys/class/dmi/id/sys_vendor": "Amazon EC2\n",
    "sys/class/dmi/id/product_name": "t3.micro\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "kvm-clock tsc acpi_pm \n",
    "proc/sys/net/ipv4/tcp_congestion_control": "cubic\n",
    "proc/sys/net/ipv4/tcp_available_congestion_control": "reno cubic bbr\n",
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304\n",
    "proc/sys/net/core/rmem_max": "212992\n",
    "proc/sys/net/core/default_qdisc": "fq_codel\n",
}


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "never")


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_an_instance_s_facts(instance: Path) -> None:
    facts = host_facts(None, root=instance)
    assert facts.system.distribution == "Debian GNU/Linux 12 (bookworm)"
    assert (facts.cpu.model, facts.cpu.mhz) == ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 2499.998)
    assert (facts.virtualisation.vendor, facts.virtualisation.product) == ("Amazon EC2", "t3.micro")
    assert (facts.virtualisation.hypervisor, facts.virtualisation.hypervisor_flag) == (None, True)
    assert facts.memory_bytes == 1_024_000
    assert (facts.clock.source, facts.clock.available_sources) == ("kvm-clock", ("kvm-clock", "tsc", "acpi_pm"))
    assert facts.tcp.congestion_control == "cubic"
    assert facts.tcp.congestion_controls_available == ("reno", "cubic", "bbr")
    assert (facts.tcp.rmem_bytes, facts.tcp.wmem_bytes) == ((4096, 131072, 6291456), (4096, 16384, 4194304))
    assert (facts.tcp.rmem_max_bytes, facts.tcp.wmem_max_bytes) == (212992, None)
    assert facts.tcp.default_qdisc == "fq_codel"
    assert (facts.interface, facts.instance) == (None, None)


def test_where_nothing_can_be_told_all_is_null(tmp_path: Path) -> None:
    record = host_facts("nosuch0", root=tmp_path).as_record()
    assert record["interface"] is record["instance"] is record["memory_bytes"] is None
    assert set(record["tcp"].values()) == set(record["virtualisation"].values()) == {None}
    assert record["cpu"]["model"] is record["system"]["distribution"] is record["clock"]["source"] is None


def test_this_machine_s_facts_are_plain_json() -> None:
    record = host_facts("lo").as_record()
    back = json.loads(json.dumps(record, allow_nan=False))
    assert back["schema"] == SCHEMA
    assert back["system"]["kernel"] == platform.release()
    assert back["system"]["host"] == os.uname().nodename
    assert back["cpu"]["usable"] >= 1
    assert back["memory_bytes"] > 10_000_000
    assert back["interface"]["name"] == "lo"
    assert back["interface"]["offloads"]["tso"] in {True, False}
    assert back["tcp"]["congestion_control"] in back["tcp"]["congestion_controls_available"]
    assert len(back["tcp"]["rmem_bytes"]) == 3


@given(text=st.text())
def test_any_text_in_the_kernel_s_files_is_read_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("root")
    for name in ("proc/cpuinfo", "etc/os-release", "proc/sys/net"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode("utf-8", "surrogatepass"))
    assert (_cpu(root).model or "x").strip()
    assert _virtualisation(root).hypervisor_flag in {None, True, False}
    assert _system(root).kernel == platform.release()
    assert _memory_bytes(text) is None or "MemTotal" in text
    assert _numbers(root / "proc/cpuinfo") is None or text.split()

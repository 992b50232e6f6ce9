"""The wheels of `make wheels`, where they were built: for which machines and systems, and the same files in all."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging.made import ROOT

# Their numbers in the header of an ELF file.
MACHINES = {"x86_64": 62, "aarch64": 183}
ENGINE = "vmtrace/analyze/_engine.abi3.so"

pytestmark = [pytest.mark.long, pytest.mark.may_skip]


def wheel(machine: str) -> Path:
    name = f"vmtrace-*-cp311-abi3-manylinux2014_{machine}.manylinux_2_17_{machine}.whl"
    found = sorted((ROOT / "build/wheels").glob(name))
    if not found:
        pytest.skip("there are no wheels: make wheels")
    return found[-1]


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_a_wheel_asks_for_no_more_than_the_system_of_2014(machine: str) -> None:
    program = Path(sys.executable).with_name("auditwheel")
    if not program.exists():
        pytest.skip("auditwheel is not installed")
    done = subprocess.run([program, "show", wheel(machine)], check=True, capture_output=True, text=True, timeout=300)
    assert f'platform tag: "manylinux_2_17_{machine}".' in " ".join(done.stdout.split())
    engine = zipfile.ZipFile(wheel(machine)).read(ENGINE)
    assert engine[:4] == b"\x7fELF"
    assert int.from_bytes(engine[18:20], "little") == MACHINES[machine]


def test_all_hold_the_same_files() -> None:
    names = [set(zipfile.ZipFile(wheel(machine)).namelist()) for machine in sorted(MACHINES)]
    assert ENGINE in names[0]
    assert names[0] == names[1]

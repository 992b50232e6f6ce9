"""The set-up script installs what is missing where it may, and says what is skipped where it may not."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/system-packages"
# What the script itself runs; all else is absent from the made-up machine.
TOOLS = ("bash", "env", "find")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of commands that stands for a machine with hardly anything on it."""
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    add(tmp_path, "apt-get", 'echo "apt-get $*" >> "$LOG"')
    return tmp_path


def add(machine: Path, name: str, body: str) -> None:
    """Puts a command on the machine."""
    path = machine / name
    path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
    path.chmod(0o755)


def run(machine: Path, purpose: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """The finished script, and what it asked apt-get to do."""
    log = machine / "log"
    env = {"PATH": str(machine), "LOG": str(log), "PYTHON": sys.executable}
    done = subprocess.run([str(SCRIPT), purpose], check=False, capture_output=True, text=True, env=env)
    return done, log.read_text() if log.exists() else ""


def test_nothing_is_installed_when_all_is_there(machine: Path) -> None:
    for command in ("cc", "ip", "setpriv", "ethtool", "tcpdump", "openssl"):
        add(machine, command, "true")
    done, asked = run(machine, "demo")
    assert done.stdout == "system packages for demo: all there\n"
    assert (done.returncode, asked) == (0, "")


def test_root_installs_what_is_missing_and_says_so(machine: Path) -> None:
    add(machine, "id", "echo 0")
    add(machine, "cc", "true")
    done, asked = run(machine, "test")
    assert "installing with apt-get:" in done.stdout
    assert "install " in asked
    for package in ("tshark", "tcptrace", "tcpdump", "chromium"):
        assert package in asked
        assert package in done.stdout


def test_a_user_without_sudo_is_told_what_to_install_and_what_is_skipped(machine: Path) -> None:
    add(machine, "id", "echo 1000")
    add(machine, "sudo", "exit 1")
    add(machine, "cc", "true")
    done, asked = run(machine, "test")
    assert asked == ""
    assert "to have them: sudo apt-get install" in done.stdout
    assert "skipped, for want of tcptrace" in done.stdout
    assert done.returncode == 0


def test_without_a_compiler_it_fails_and_names_the_package(machine: Path) -> None:
    add(machine, "id", "echo 1000")
    add(machine, "sudo", "exit 1")
    done, _ = run(machine, "demo")
    assert "MISSING, and nothing works without it: cc (package gcc)" in done.stderr
    assert done.returncode == 1


def test_one_package_that_is_not_to_be_had_does_not_cost_the_others(machine: Path) -> None:
    add(machine, "id", "echo 0")
    add(machine, "cc", "true")
    add(machine, "apt-get", 'echo "apt-get $*" >> "$LOG"; case "$*" in *tcptrace*) exit 100 ;; esac')
    done, asked = run(machine, "test")
    assert asked.splitlines()[-1].endswith(("chromium", "iperf3", "openssl", "valgrind"))
    assert "not installed: tcptrace" in done.stdout


def test_the_lab_asks_for_its_programs_and_for_a_guest_kernel(machine: Path) -> None:
    add(machine, "id", "echo 0")
    done, asked = run(machine, "lab")
    for package in ("util-linux", "tcpdump", "openssl", "user-mode-linux"):
        assert package in asked
    assert "nothing works without it: setpriv (package util-linux)" in done.stderr
    assert "stalls of a guest kernel" in done.stdout
    assert done.returncode == 1


def test_an_unknown_purpose_is_wrong_usage() -> None:
    done = subprocess.run([str(SCRIPT), "dance"], check=False, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 2

"""What packages install: the tree, the Debian package, the unit, the action, and the steps of the Containerfile."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tests.packaging.made import ROOT, environment, wheel

PACKAGING = ROOT / "packaging"
SAMPLE = ROOT / "samples/tls13.pcap"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Debian package of the checkout, without the libraries that it would bring along."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed: not a Debian system")
    folder = tmp_path_factory.mktemp("package")
    command = [str(PACKAGING / "debian/build"), str(wheel(folder)), str(folder / "out")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def root(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A system of its own with the package installed; at the end it is removed, and nothing of it may be left."""
    folder = tmp_path_factory.mktemp("root")
    (folder / "var/lib/dpkg/updates").mkdir(parents=True)
    (folder / "var/lib/dpkg/info").mkdir()
    (folder / "var/lib/dpkg/status").touch()
    dpkg(folder, "--force-depends", "--install", str(package))
    yield folder
    dpkg(folder, "--purge", "vmtrace")
    left = [path for path in folder.rglob("*") if path.is_file() and "var" not in path.relative_to(folder).parts]
    assert left == []


def dpkg(root: Path, *words: str) -> None:
    done = subprocess.run(
        ["dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", "--log=/dev/null", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def installed(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The program that the package installed."""
    return subprocess.run([str(root / "usr/bin/vmtrace"), *words], capture_output=True, text=True, check=False)


@pytest.mark.root
@pytest.mark.untimed
def test_the_installed_program_analyzes_with_its_own_modules(root: Path) -> None:
    done = installed(root, "analyze", str(SAMPLE), "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["schema"] == "vmtrace.analysis/1"
    library = root / "usr/lib/vmtrace"
    code = "import vmtrace, vmtrace.analyze._engine as e; print(vmtrace.__file__); print(e.__file__)"
    path = {**os.environ, "PYTHONPATH": str(library)}
    shown = subprocess.run([sys.executable, "-P", "-c", code], env=path, capture_output=True, text=True, check=True)
    assert all(line.startswith(str(library)) for line in shown.stdout.splitlines())


@pytest.mark.root
@pytest.mark.untimed
def test_manual_completion_and_unit_are_installed(root: Path) -> None:
    share = root / "usr/share"
    manual = gzip.decompress((share / "man/man1/vmtrace.1.gz").read_bytes()).decode()
    assert '.SS "vmtrace analyze"' in manual
    bash = share / "bash-completion/completions/vmtrace"
    shown = subprocess.run(
        ["bash", "-c", f"source {bash}; complete -p vmtrace"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("complete ")
    others = {"zsh": "zsh/vendor-completions/_vmtrace", "fish": "fish/vendor_completions.d/vmtrace.fish"}
    for shell, place in others.items():
        text = (share / place).read_text()
        assert "vmtrace" in text
        assert shell != "zsh" or text.startswith("#compdef vmtrace")
        if shutil.which(shell):
            subprocess.run([shell, "-n", str(share / place)], check=True, timeout=60)
    assert (root / "usr/lib/systemd/system/vmtrace-receiver.service").is_file()


def test_systemd_takes_the_unit_and_finds_it_hardly_exposed(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "vmtrace-receiver.service"
    text = (PACKAGING / "vmtrace-receiver.service").read_text()
    unit.write_text(text.replace("/usr/bin/vmtrace receive", "/bin/true receive").replace("Documentation", "#"))
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=19", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout
    assert re.search(r"Overall exposure level for \S+: (1\.\d|0\.\d) OK", judged.stdout), judged.stdout[-200:]


def test_the_unit_calls_the_receiver_with_options_that_it_has() -> None:
    from vmtrace.receiver.command import build_parser

    unit = (PACKAGING / "vmtrace-receiver.service").read_text()
    (line,) = re.findall(r"^ExecStart=/usr/bin/vmtrace receive (.*)$", unit, re.MULTILINE)
    arguments = build_parser().parse_args(line.replace("${STATE_DIRECTORY}", "/var/lib/vmtrace-receiver").split())
    assert str(arguments.out) == "/var/lib/vmtrace-receiver/recordings"


@pytest.mark.parametrize(("condition", "status"), [("", 0), ("retransmission_rate<0", 0), ("duration_s>=0", 3)])
def test_the_action_ends_with_the_status_of_the_analysis(tmp_path: Path, condition: str, status: int) -> None:
    action = yaml.safe_load((PACKAGING / "action/action.yml").read_text())
    (step,) = [one for one in action["runs"]["steps"] if one["name"] == "analyze"]
    given = {"captures": str(SAMPLE), "fail-if": condition, "json": "out.json", "report": "page.html"}
    assert given.keys() <= action["inputs"].keys()
    values = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], text)
        for name, text in step["env"].items()
    }
    program = tmp_path / "bin/vmtrace"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m vmtrace "$@"\n')
    program.chmod(0o755)
    outputs = tmp_path / "outputs"
    path = f"{program.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path,
        env={**os.environ, **values, "PATH": path, "GITHUB_OUTPUT": str(outputs)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    assert outputs.read_text() == f"status={status}\n"
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "vmtrace.analysis/1"
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_the_containerfile_copies_what_is_there() -> None:
    lines = (PACKAGING / "Containerfile").read_text().splitlines()
    steps = [line.split() for line in lines if line.startswith("COPY ")]
    sources = {source for _, *copied, _ in steps for source in copied}
    assert {source for source in sources if not (ROOT / source).exists()} <= {"build/wheels"}

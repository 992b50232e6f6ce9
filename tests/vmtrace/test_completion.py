"""What a shell is answered: subcommands, options, choices, and the names of profiles, plans, providers, interfaces."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def completed(tmp_path: Path, line: str) -> list[str]:
    """Through the answers that argcomplete gives a shell, in a file."""
    answers = tmp_path / "answers"
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answers),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "PATH": "/usr/bin:/bin",
    }
    command = [sys.executable, "-P", "-m", "vmtrace"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return [word.strip() for word in answers.read_text().splitlines()]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("vmtrace rec", ["receive"]),
        ("vmtrace compare", ["compare", "compare-runs"]),
        ("vmtrace analyze --js", ["--json", "--json-lines"]),
        ("vmtrace send --show", ["--show-plan"]),
        ("vmtrace storage cl", ["clean"]),
        ("vmtrace storage run --endp", ["--endpoint-url"]),
        ("vmtrace capture --direction i", ["in"]),
        ("vmtrace lab run ec2", ["ec2-micro-to-campus"]),
        ("vmtrace send --plan lee", ["lee2011"]),
        ("vmtrace storage run --plan boc", ["bocchi2014"]),
        ("vmtrace storage run --provider g", ["glacier"]),
        ("vmtrace storage run --interface l", ["lo"]),
        ("vmtrace queue run --plan gar", ["garfinkel2007-queue"]),
        ("vmtrace queue run --provider sq", ["sqs"]),
        ("vmtrace capture --interface l", ["lo"]),
        ("vmtrace analyze --instance-type t2.mic", ["t2.micro"]),
        ("vmtrace analyze --fail-if zero", ["zero_windows"]),
    ],
)
def test_the_shell_completes(tmp_path: Path, line: str, words: list[str]) -> None:
    assert completed(tmp_path, line) == words


def test_files_are_completed_where_files_are_due(tmp_path: Path) -> None:
    (tmp_path / "a-plan.toml").touch()
    assert "a-plan.toml" in completed(tmp_path, "vmtrace send --plan a-")
    assert "a-plan.toml" in completed(tmp_path, "vmtrace analyze a-")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_the_lines_for_a_shell_name_the_command(vmtrace: Any, shell: str) -> None:
    done = vmtrace("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "vmtrace" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_accepts_the_lines_and_completes_by_them(vmtrace: Any, tmp_path: Path) -> None:
    (tmp_path / "lines.sh").write_text(vmtrace("completion", "bash").stdout)
    script = (
        "source lines.sh; complete -p vmtrace >/dev/null || exit 9; COMP_LINE='vmtrace ana' COMP_POINT=11 COMP_TYPE=9;"
        " _python_argcomplete vmtrace; echo ${COMPREPLY[*]}"
    )
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", script], env={"PATH": path}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["analyze"]

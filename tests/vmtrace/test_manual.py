"""The manual page has every command and option, in roff that man takes without a warning."""

import shutil
import subprocess
from pathlib import Path

import pytest

from vmtrace.command_line import every_parser
from vmtrace.commands.rooms import COMMANDS
from vmtrace.manual import _escaped, page


def test_every_command_and_option_is_in_it() -> None:
    made = page("1.2.3")
    assert made.startswith('.TH VMTRACE 1 "" "vmtrace 1.2.3"')
    for name, command in COMMANDS.items():
        for parser in every_parser(command.parser(name)):
            for action in parser._actions:
                for option in action.option_strings:
                    assert _escaped(option) in made, (parser.prog, option)


@pytest.mark.parametrize(
    ("text", "shown"), [(".x", r"\&.x"), ("'x", r"\&'x"), ("a\\b", r"a\eb"), ("--no", r"\-\-no"), ("a\n.b", "a .b")]
)
def test_no_text_is_a_command_of_roff(text: str, shown: str) -> None:
    assert _escaped(text) == shown


def test_man_shows_it_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    path = tmp_path / "vmtrace.1"
    path.write_text(page("1.2.3"))
    environment = {"PATH": "/usr/bin:/bin", "MANROFFSEQ": "", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    command = ["man", "--warnings", "-l", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--fail-if" in done.stdout

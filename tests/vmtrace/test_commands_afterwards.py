"""After a command: the files that it wrote, and the next command to type. Standard output stays a program's own."""

import importlib
import inspect
import shlex
from pathlib import Path
from typing import Any

import pytest

from vmtrace.command_line import every_parser
from vmtrace.commands.rooms import COMMANDS

SAMPLES = Path(__file__).parents[2] / "samples"
LOSSY, OTHER_END = SAMPLES / "lossy-sender.pcap", SAMPLES / "lossy-receiver.pcap"
PLACES = {
    "--write", "--out", "--csv", "--html", "--report", "--figures", "--parquet", "--map", "--write-torrent", "--to",
    "--json=OUT|-",
}  # fmt: skip
"""Options that name a file or a folder to write."""

RUN_HERE: dict[str, tuple[str, ...]] = {
    "analyze": ("analyze", str(LOSSY), "--csv", "tables", "--report", "page.html", "--json", "all.json"),
    "compare": ("compare", str(LOSSY), str(OTHER_END), "--csv", "tables"),
    "report": ("report", "run", "--csv", "tables", "--html", "page.html"),
    "compare-runs": ("compare-runs", "run", "other", "--html", "page.html"),
    "annotate": ("annotate", str(LOSSY), "--write", "made.pcapng"),
    "index": ("index", str(LOSSY), "--out", "made.index"),
    "agent": ("agent", "--write", "agent.pyz"),
    "cost": ("cost", "dzero", "--prices", "palankar2008", "--html", "page.html", "--json", "cost.json"),
    "corpus analyze": ("corpus", "analyze", str(LOSSY), "--out", "results", "--workers", "1"),
    "corpus split": ("corpus", "split", str(LOSSY), "--buckets", "1", "--to", "slices"),
}
WITH_OTHERS = {
    "corpus bucket": "vmtrace.commands.corpus_bucket",
    "corpus merge": "vmtrace.commands.corpus_analyze",
    "send": "vmtrace.sender.tally",
    "fetch": "vmtrace.sender.fetch_command",
    "capture": "vmtrace.capture.command",
    "storage run": "vmtrace.commands.storage_run",
    "storage report": "vmtrace.commands.report_outputs",
    "queue run": "vmtrace.commands.queue_run",
    "queue report": "vmtrace.commands.report_outputs",
    "swarm run": "vmtrace.commands.swarm_run",
    "swarm seed": "vmtrace.commands.swarm_seed",
    "swarm report": "vmtrace.commands.report_outputs",
    "discover run": "vmtrace.commands.discover_run",
    "discover report": "vmtrace.commands.report_outputs",
    "lab run": "vmtrace.lab.command",
    "demo": "vmtrace.commands.report_outputs",
}
"""Those that need a network, rights or a service: the module that ends them uses the same function."""
TO_THE_END = {"receive", "lab scenario"}
"""The one serves until it is stopped, and says of each recording; the other prints what it found."""


@pytest.fixture
def runs(new_run: Any, tmp_path: Path) -> Path:
    for name in ("run", "other"):
        made = new_run(name)
        made.pairs(2)
        if made.folder != tmp_path / name:
            made.folder.rename(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", RUN_HERE)
def test_a_command_names_its_files_and_the_next_command(vmtrace: Any, runs: Path, name: str) -> None:
    done = vmtrace(*RUN_HERE[name])
    assert done.returncode == 0, done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    (begin,) = (number for number, line in enumerate(lines) if line.startswith("wrote: "))
    (end,) = (number for number, line in enumerate(lines) if line.startswith("next:  "))
    places = [line[len("wrote: ") :] for line in lines[begin:end]]
    assert places
    assert [place for place in places if not (runs / place).exists()] == []
    words = shlex.split(lines[end].removeprefix("next:  "), comments=True)
    assert words[0] in {"vmtrace", "xdg-open", "open", "wireshark", "python3"}
    if words[0] == "vmtrace":
        assert words[1] in COMMANDS
    given = [word for word in RUN_HERE[name] if word in {"tables", "page.html", "all.json", "made.pcapng", "results"}]
    assert {place.rstrip("/") for place in places} >= set(given)


@pytest.mark.parametrize("name", ["analyze", "cost"])
def test_of_a_document_on_standard_output_nothing_else_is_there(vmtrace: Any, runs: Path, name: str) -> None:
    words = list(RUN_HERE[name])
    words[words.index("--json") + 1] = "-"
    done = vmtrace(*words)
    assert done.returncode == 0
    assert done.stdout.startswith("{")
    assert done.stdout.rstrip().endswith("}")
    assert "wrote: " in done.stderr
    assert (runs / "page.html").exists()


@pytest.mark.parametrize("name", ["analyze", "compare", "cost", "annotate", "index"])
def test_quiet_says_nothing(vmtrace: Any, runs: Path, name: str) -> None:
    done = vmtrace(*RUN_HERE[name], "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert any(runs.iterdir())


@pytest.mark.parametrize(
    ("words", "begin"),
    [
        (("analyze", str(LOSSY), "--report", "-"), "<!DOCTYPE html>"),
        (("report", "run", "--html", "-"), "<!DOCTYPE html>"),
        (("compare-runs", "run", "other", "--html", "-"), "<!DOCTYPE html>"),
        (("cost", "dzero", "--prices", "palankar2008", "--html", "-"), "<!DOCTYPE html>"),
        (("analyze", str(LOSSY), "--json", "-"), "{"),
    ],
)
def test_a_dash_is_standard_output(vmtrace: Any, runs: Path, words: tuple[str, ...], begin: str) -> None:
    done = vmtrace(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.lower().startswith(begin.lower())
    assert "wrote:" not in done.stdout
    assert not (runs / "-").exists()


@pytest.mark.parametrize(
    ("words", "begin"),
    [
        (("annotate", str(LOSSY), "--write", "-"), b"\x0a\x0d\x0d\x0a"),
        (("agent", "--write", "-"), b"#!/usr/bin/env python3\nPK"),
    ],
)
def test_a_dash_takes_what_is_no_text(tmp_path: Path, words: tuple[str, ...], begin: bytes) -> None:
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-P", "-m", "vmtrace", *words], capture_output=True, cwd=tmp_path, check=True
    )
    assert done.stdout.startswith(begin)
    assert not (tmp_path / "-").exists()


def test_two_documents_do_not_share_standard_output(vmtrace: Any) -> None:
    done = vmtrace("analyze", LOSSY, "--json", "-", "--report", "-")
    assert done.returncode == 2
    assert "standard output can hold one of them" in done.stderr


def test_every_command_that_writes_is_held_to_it() -> None:
    writing = set()
    for name, about in COMMANDS.items():
        for parser in every_parser(about.parser(name)):
            options = {
                f"{option}={action.metavar}" if option == "--json" else option
                for action in parser._actions
                for option in action.option_strings
            }
            if options & PLACES:
                writing.add(parser.prog.removeprefix("vmtrace "))
    assert writing == {*RUN_HERE, *WITH_OTHERS, *TO_THE_END} - {"fetch"}
    for name, module in WITH_OTHERS.items():
        source = inspect.getsource(importlib.import_module(module))
        assert any(word in source for word in ("afterwards", "then=", "shown_end")), name

"""`vmtrace extcap`: what is watched is an interface for Wireshark, which gets the last packets through its FIFO.

Subjects: `vmtrace/commands/extcap.py`, `vmtrace/commands/watch_offer.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmtrace.analyze.reports.live.stream import Stream
from vmtrace.commands.watch_offer import fetched, offered, offering

ROOT = Path(__file__).parents[2]
CAPTURE = (ROOT / "samples/ipv6.pcapng").read_bytes()


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for sockets, short enough for their names, which pytest's own is not."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def stream(name: str = "eth0", packets: bytes | None = CAPTURE) -> Stream:
    made: Any = SimpleNamespace(name=name, last_packets=lambda: packets)
    return made  # type: ignore[no-any-return]


def extcap(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vmtrace", "extcap", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


def test_what_is_watched_is_an_interface_as_long_as_it_is_watched() -> None:
    with offering(stream("a file/with {braces}")):
        listed = extcap("--extcap-interfaces").stdout.splitlines()
        assert listed[0].startswith("extcap {version=")
        assert listed[1:] == [
            f"interface {{value=vmtrace-{os.getpid()}}}{{display=vmtrace watch a_file_with__braces_}}"
        ]
    assert extcap("--extcap-interfaces").stdout.splitlines() == listed[:1]


def test_link_types_and_options_are_what_wireshark_asks_for() -> None:
    with offering(stream()):
        interface = f"vmtrace-{os.getpid()}"
        assert extcap("--extcap-interface", interface, "--extcap-dlts").stdout.startswith("dlt {number=1}{name=EN10MB}")
        options = extcap("--extcap-interface", interface, "--extcap-config")
        assert (options.stdout, options.returncode) == ("", 0)


def test_a_fifo_gets_the_last_packets(runtime: Path) -> None:
    fifo, got = runtime / "fifo", list[bytes]()
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    with offering(stream()):
        assert b"".join(fetched(offered()[0].path)) == CAPTURE
        done = extcap("--extcap-interface", f"vmtrace-{os.getpid()}", "--capture", "--fifo", str(fifo))
    reader.join(20)
    assert (done.returncode, done.stderr) == (0, "")
    assert got == [CAPTURE]


def test_what_is_not_watched_is_one_line() -> None:
    done = extcap("--extcap-interface", "vmtrace-1", "--capture", "--fifo", "x")
    assert (done.returncode, done.stderr) == (1, "vmtrace: vmtrace-1: not watched any more\n")


def test_a_folder_that_others_may_read_is_not_used(runtime: Path) -> None:
    (runtime / "vmtrace").mkdir(mode=0o755)
    (runtime / "vmtrace").chmod(0o755)
    with offering(stream()):
        assert offered() == []
    assert list((runtime / "vmtrace").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_captures_the_last_packets_of_what_is_watched(runtime: Path) -> None:
    saved = runtime / "saved.pcapng"
    for folder in (".config/wireshark/extcap", ".local/lib/wireshark/extcap"):  # before and since version 4.2
        assert extcap("--install", str(runtime / folder)).returncode == 0
    more = {**os.environ, "HOME": str(runtime), "PYTHONPATH": str(ROOT)}
    interface = f"vmtrace-{os.getpid()}"
    with offering(stream()):
        listed = subprocess.run(["tshark", "-D"], capture_output=True, text=True, env=more, timeout=60, check=False)
        assert f"{interface} (vmtrace watch eth0)" in listed.stdout, listed.stderr
        options = ["-i", interface, "-w", str(saved), "-q"]
        subprocess.run(["tshark", *options], capture_output=True, env=more, timeout=60, check=False)
    assert frames(saved) == frames(ROOT / "samples/ipv6.pcapng")


def frames(capture: Path) -> list[str]:
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "tcp.seq_raw"]
    done = subprocess.run(["tshark", "-r", str(capture), *fields], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()

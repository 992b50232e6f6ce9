"""Captures that pass an interface at their own pace: what `vmtrace watch` says equals what the file of them says.

Subjects: `vmtrace/commands/watch_source.py`, `vmtrace/commands/watching.py`, `vmtrace/commands/watch_saving.py`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.eventually import eventually
from tests.vmtrace import replays
from tests.vmtrace.test_commands_watch import last_of_each, of_file

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
_AT_ONCE = 4
_LOCAL_EXPERIMENT = b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5" + bytes(46)
"""A frame of no protocol, to see that the recorder runs."""
Record = dict[str, Any]

pytestmark = [pytest.mark.root, pytest.mark.untimed, pytest.mark.slow]


@dataclass(frozen=True)
class Replayed:
    """One capture, as it was watched, as the packets that passed say, and as its frames say."""

    live: list[Record]
    saved: list[Record]
    prepared: list[Record]


@contextmanager
def namespace() -> Iterator[str]:
    """A namespace in which nobody sends anything of their own."""
    name = f"vmtrace-replay-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True, timeout=20)
    try:
        subprocess.run(_inside(name, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"), check=True, timeout=20)
        subprocess.run(_inside(name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"), check=True, timeout=20)
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, timeout=20)


def _inside(name: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", name, *words]


@contextmanager
def cable(name: str, number: int) -> Iterator[tuple[str, str]]:
    """Two ends without addresses."""
    ends = (f"a{number}", f"b{number}")
    subprocess.run(
        ["ip", "-n", name, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True, timeout=20
    )
    try:
        for end in ends:
            words = ["ip", "-n", name, "link", "set", end, "mtu", "65521", "arp", "off", "up"]
            subprocess.run(words, check=True, timeout=20)
        yield ends
    finally:
        subprocess.run(["ip", "-n", name, "link", "del", ends[0]], check=False, timeout=20)


def replayed(prepared: Path, place: str, number: int, folder: Path) -> Replayed:
    """Watch one end while the frames are sent at the other."""
    probe = folder / f"probe{number}.frames"
    probe.write_bytes(replays.file_of([(0, _LOCAL_EXPERIMENT)]))
    send = [sys.executable, str(Path(replays.__file__))]
    with cable(place, number) as (near, far):
        words = ["watch", "--interface", far, "--json-lines", "--every", "0.5s", "--keep", "300MB"]
        words += ["--save-to", str(folder / f"saved{number}")]
        command = _inside(place, sys.executable, "-m", "vmtrace", *words)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, cwd=ROOT) as watched:
            lines = list[Record]()
            reader = threading.Thread(target=lambda: lines.extend(map(json.loads, watched.stdout or ())))
            reader.start()

            def has_begun() -> bool:
                subprocess.run(_inside(place, *send, str(probe), near), check=True, timeout=20)
                return bool(lines)

            assert eventually(has_begun, 60)
            already = _passed(lines)[-1]
            subprocess.run(_inside(place, *send, str(prepared), near), check=True, timeout=240)
            # A record is read once the next one is there.
            for _ in range(2):
                subprocess.run(_inside(place, *send, str(probe), near), check=True, timeout=20)
            saved, wanted = folder / f"saved{number}", already + len(replays.read(prepared.read_bytes()))
            assert eventually(lambda: _passed(lines)[-1] > wanted and _is_quiet(lines), 120)
            watched.send_signal(signal.SIGUSR1)
            assert eventually(lambda: saved.is_dir() and any(saved.glob("*.html")), 120)
            watched.send_signal(signal.SIGINT)
            assert watched.wait(60) == 0
            reader.join(60)
            assert watched.stderr is not None
            said = [line for line in watched.stderr.read().decode().splitlines() if "saved" not in line]
            assert said == []
    [capture] = saved.glob("*.pcapng")
    return Replayed(lines, of_file(capture), of_file(prepared))


def _passed(lines: list[Record]) -> list[int]:
    return [one["packets"] for one in lines if one["record"] == "status"]


def _is_quiet(lines: list[Record]) -> bool:
    return len(set(_passed(lines)[-4:])) == 1


def numbers(records: list[Record]) -> list[Any]:
    """Of each connection what does not depend on the moment: who, how much, what came twice, how it ended."""
    found = []
    for one in records:
        if one["record"] == "connection":
            sides = [one[side] for side in ("client_to_server", "server_to_client")]
            names = ("packets", "wire_bytes", "data_packets", "payload_bytes", "unique_payload_bytes")
            amounts = [side[name] for side in sides for name in names]
            found.append((one["client"], one["server"], one["close"], *amounts))
    return sorted(found)


def verdicts(records: list[Record]) -> list[Any]:
    """Of each connection and direction what limited it for longest."""
    found = []
    for one in records:
        if one["record"] == "connection":
            sides = [one[side].get("limits") or [] for side in ("client_to_server", "server_to_client")]
            found.append((one["client"], one["server"], *(side[0]["factor"] if side else None for side in sides)))
    return sorted(found, key=str)


def findings(records: list[Record]) -> list[str]:
    """Kinds and owners, as they stand at the end."""
    last = map(json.loads, last_of_each([dict(one) for one in records]))
    return sorted(f"{one['kind']}/{one['owner']}" for one in last if one["record"] == "finding")


@pytest.mark.parametrize("name", ["tls13.pcap", "offload-sender.pcap"])
def test_what_passes_an_interface_is_what_the_file_of_it_says(name: str, tmp_path: Path) -> None:
    prepared = replays.prepared(SAMPLES / name, tmp_path)
    assert isinstance(prepared, Path), prepared
    with namespace() as place:
        found = replayed(prepared, place, 1, tmp_path)
    assert last_of_each(found.live) == last_of_each(found.saved)
    assert numbers(found.live) == numbers(found.prepared)


@pytest.mark.long
def test_fifty_captures_that_pass_interfaces_are_what_their_files_say(traces: Path, tmp_path: Path) -> None:
    ends = (".pcap", ".pcapng", ".pcap.gz", ".dmp", ".dmp.gz", ".dump.gz", ".snoop")
    captures = sorted(one for one in [*SAMPLES.iterdir(), *traces.iterdir()] if one.name.endswith(ends))
    sent, left_out = list[tuple[str, Path]](), dict[str, str]()
    for capture in captures:
        prepared = replays.prepared(capture, tmp_path)
        if isinstance(prepared, str):
            left_out[capture.name] = prepared
        else:
            sent.append((capture.name, prepared))
    results = dict[str, tuple[bool, bool, bool, bool]]()
    with namespace() as place, ThreadPoolExecutor(_AT_ONCE) as together:

        def one(number: int) -> None:
            name, prepared = sent[number]
            found = replayed(prepared, place, number, tmp_path)
            of_saved = last_of_each(found.live) == last_of_each(found.saved)
            alike = [of(found.live) == of(found.prepared) for of in (numbers, verdicts, findings)]
            results[name] = (of_saved, alike[0], alike[1], alike[2])
            print(f"{name}: {results[name]}", flush=True)

        for _ in together.map(one, range(len(sent))):
            pass
    print(f"left out: {left_out}")
    print(f"{len(results)} captures; {[sum(one[which] for one in results.values()) for which in range(4)]}")
    assert len(results) >= 50
    assert [name for name, found in results.items() if not found[0]] == []

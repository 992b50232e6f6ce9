"""Seeds are found by a tracker that exists; one that does not answer is one line."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.providers.swarm_made import LOOPBACK, shared_file
from vmtrace.lab.services.process import free_ports
from vmtrace.providers.swarm import seed as seeding
from vmtrace.providers.swarm.client import session
from vmtrace.providers.swarm.errors import SwarmError
from vmtrace.providers.swarm.torrent import Torrent
from vmtrace.providers.swarm.tracker import ask_trackers


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, Torrent]:
    return shared_file(tmp_path / "shared", 100_000)


@pytest.fixture
def opentracker(tmp_path: Path, shared: tuple[Path, Torrent]) -> Iterator[str]:
    """The announce URL of a tracker for the torrent."""
    if shutil.which("opentracker") is None:
        pytest.skip("there is no opentracker: install it (Debian: opentracker)")
    port = free_ports(LOOPBACK, 1)[0]
    folder = Path("/tmp") / f"vmtrace-tracker-{port}"
    folder.mkdir(mode=0o755)
    (folder / "torrents").write_text(shared[1].info_hash + "\n")
    words = ["opentracker", "-i", LOOPBACK, "-p", str(port), "-P", str(port), "-d", str(folder), "-w", "torrents"]
    running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: _listens(port), within_s=20)
        yield f"http://{LOOPBACK}:{port}/announce"
    finally:
        running.kill()
        running.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


@pytest.mark.parametrize("scheme", ["http", "udp"])
def test_the_seeds_of_a_tracker_are_found_and_not_oneself(
    shared: tuple[Path, Torrent], opentracker: str, scheme: str
) -> None:
    file, torrent = shared
    url = opentracker.replace("http", scheme)
    ports = free_ports(LOOPBACK, 2)
    sharing = []
    for port in ports:
        order = seeding.SeedOrder(file, torrent, (url,), (LOOPBACK,), port, None, None)
        one = session(f"{LOOPBACK}:{port}")
        seeding._wait_until_listening(one, order)
        sharing.append((one, seeding._added(one, order)))
    found: list[tuple[str, int]] = []

    def all_there() -> bool:
        found[:] = [peer for peer in ask_trackers(torrent, [url], 10.0).peers if peer[1] in ports]
        return len(found) == 2

    assert eventually(all_there, within_s=30)
    assert sorted(found) == sorted((LOOPBACK, port) for port in ports)
    asked = ask_trackers(torrent, [url], 10.0)
    assert asked.own
    assert not asked.own & set(asked.peers)
    for one, handle in sharing:
        one.remove_torrent(handle)


def test_a_tracker_that_is_not_there_says_what_to_do(shared: tuple[Path, Torrent]) -> None:
    port = free_ports(LOOPBACK, 1)[0]
    with pytest.raises(SwarmError, match=r"no tracker replied \(.*\): check --tracker, or name seeds with --peers"):
        ask_trackers(shared[1], [f"http://{LOOPBACK}:{port}/announce"], 5.0)


def test_a_tracker_without_the_torrent_says_why(opentracker: str, tmp_path: Path) -> None:
    _, other = shared_file(tmp_path / "other", 50_000)
    with pytest.raises(SwarmError, match="not authorized"):
        ask_trackers(other, [opentracker], 5.0)

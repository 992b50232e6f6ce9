"""One download on loopback: what each source delivered, and what happens when one of them goes wrong."""

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.providers.swarm_made import Behaviour, seed, shared_file, web_server
from vmtrace.lab.services.process import free_ports
from vmtrace.providers.swarm.counters import SEED, WEB_SEED
from vmtrace.providers.swarm.download import FAILED, FINISHED, STALLED, STOPPED, Ask, Download, Result
from vmtrace.providers.swarm.torrent import Torrent, check_file

SIZE_BYTES = 3_000_000
PIECE_BYTES = 64 << 10


def ask(
    torrent: Torrent, folder: Path, peers: tuple[tuple[str, int], ...], url: str | None = None, **more: float
) -> Ask:
    folder.mkdir(exist_ok=True)
    values = {"timeout_s": 60.0, "stall_s": 30.0, "stop_after_s": None} | more
    return Ask(torrent, peers, url, folder, web_request_bytes=256 << 10, **values)  # type: ignore[arg-type]


def bytes_of(result: Result, kind: str) -> int:
    return sum(source.bytes for source in result.counters.sources.values() if source.kind == kind)


def test_seeds_and_web_seed_together_deliver_the_file(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    moved: list[int] = []
    with ExitStack() as stack:
        peers = tuple(stack.enter_context(seed(file, torrent, 1_000_000)) for _ in range(2))
        url = stack.enter_context(web_server(Behaviour(file.read_bytes())))
        result = Download(ask(torrent, tmp_path / "files", peers, url), moved.append).run()
    assert result.status == FINISHED
    assert check_file(torrent.place(tmp_path / "files"), torrent).wrong_pieces == 0
    counted = bytes_of(result, SEED) + bytes_of(result, WEB_SEED)
    assert counted == result.payload_bytes >= SIZE_BYTES + result.redundant_bytes
    assert result.unattributed_bytes == 0
    assert sum(moved) <= counted
    assert bytes_of(result, WEB_SEED) > 0
    assert result.counters.samples[-1].time_ns >= result.end_ns


def test_a_rate_limit_holds_and_a_capacity_measurement_ends_in_time(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    with seed(file, torrent, 400_000) as peer:
        result = Download(ask(torrent, tmp_path / "files", (peer,), stop_after_s=3.0)).run()
    assert result.status == STOPPED
    assert 50_000 < bytes_of(result, SEED) < 2_600_000


def test_a_web_seed_that_refuses_leaves_the_seeds_to_deliver(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    with seed(file, torrent) as peer, web_server(Behaviour(b"", status=403)) as url:
        result = Download(ask(torrent, tmp_path / "files", (peer,), url)).run()
    assert result.status == FINISHED
    assert bytes_of(result, WEB_SEED) == 0
    store = next(one for one in result.counters.sources.values() if one.kind == WEB_SEED)
    assert any("403" in text for text in store.errors)


def test_wrong_bytes_are_counted_as_wasted_and_the_seed_delivers(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    with seed(file, torrent, 300_000) as peer, web_server(Behaviour(file.read_bytes(), flips=True)) as url:
        result = Download(ask(torrent, tmp_path / "files", (peer,), url)).run()
    assert result.status == FINISHED
    assert result.hash_failures > 0
    assert result.failed_bytes >= PIECE_BYTES
    assert check_file(torrent.place(tmp_path / "files"), torrent).wrong_pieces == 0


def test_without_any_source_it_is_given_up_with_the_reason(tmp_path: Path) -> None:
    _, torrent = shared_file(tmp_path / "shared", SIZE_BYTES)
    began_s, port = time.monotonic(), free_ports("127.0.0.1", 1)[0]
    result = Download(ask(torrent, tmp_path / "files", (("127.0.0.1", port),), stall_s=3.0)).run()
    assert result.status == STALLED
    assert result.error is not None
    assert f"127.0.0.1:{port}: Connection refused" in result.error
    assert time.monotonic() - began_s < 20


def test_a_seed_of_another_torrent_delivers_nothing(tmp_path: Path) -> None:
    file, other = shared_file(tmp_path / "other", SIZE_BYTES)
    _, torrent = shared_file(tmp_path / "shared", SIZE_BYTES)
    with seed(file, other) as peer:
        result = Download(ask(torrent, tmp_path / "files", (peer,), stall_s=2.0)).run()
    assert result.status == STALLED
    assert bytes_of(result, SEED) == 0


def test_a_seed_that_dies_leaves_the_other_to_deliver(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    with seed(file, torrent, 1_000_000) as lasting, ExitStack() as dying:
        mortal = dying.enter_context(seed(file, torrent, 300_000))
        ends = threading.Thread(target=dying.close)

        def moved(_: int) -> None:
            if ends.ident is None and download._counters.sources[mortal].bytes > 0:
                ends.start()

        download = Download(ask(torrent, tmp_path / "files", (lasting, mortal)), moved)
        result = download.run()
        ends.join()
    assert result.status == FINISHED
    assert check_file(torrent.place(tmp_path / "files"), torrent).wrong_pieces == 0
    assert result.unattributed_bytes == 0
    assert 0 < result.counters.sources[mortal].bytes < SIZE_BYTES / 2
    assert result.counters.sources[mortal].errors


def test_a_folder_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    file, torrent = shared_file(tmp_path / "shared", SIZE_BYTES, PIECE_BYTES)
    place = tmp_path / "files"
    place.mkdir()
    torrent.place(place).mkdir()  # a folder where the file is to be
    with seed(file, torrent) as peer:
        result = Download(ask(torrent, place, (peer,))).run()
    assert result.status == FAILED
    assert result.error


@pytest.mark.parametrize("status", [500, 503])
def test_a_web_seed_with_trouble_alone_stalls_with_its_answer(tmp_path: Path, status: int) -> None:
    _, torrent = shared_file(tmp_path / "shared", SIZE_BYTES)
    with web_server(Behaviour(b"", status=status)) as url:
        result = Download(ask(torrent, tmp_path / "files", (), url, stall_s=2.0)).run()
    assert result.status == STALLED
    assert result.error is not None
    assert str(status) in result.error

"""An index names the stretches that hold the packets of connections, and is of one version of its capture."""

from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.corpus import captures_made as made
from vmtrace.analyze.read import index_file
from vmtrace.analyze.read.capture_version import Version
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.read.index_file import Index, IndexFileError, as_bytes, parsed
from vmtrace.analyze.trace import Options, Trace, read

ONE = Options(grouping=Grouping.MERGE)


def capture(folder: Path, count: int = 300, files: int = 1) -> list[str]:
    return [str(path) for path in made.written(folder, made.rotated(made.merged(made.talks(count)), files))]


def indexed(paths: list[str]) -> None:
    for path in paths:
        index, errors = index_file.made(path)
        assert not errors
        index_file.put(index_file.place_of(path), as_bytes(index, path))


def packets(trace: Trace, connections: list[int]) -> pa.Table:
    return pa.table(trace.packets(connections))


def compare(paths: list[str], connections: list[int]) -> Trace:
    """The packets by the index are those of reading everything."""
    expected = packets(read(*paths, options=ONE), connections)
    indexed(paths)
    trace = read(*paths, options=ONE)
    # Fails unless the index is used.
    trace._read_again = None  # type: ignore[assignment]
    assert packets(trace, connections).equals(expected)
    assert expected.num_rows > 0
    return trace


def test_packets_by_the_index_are_those_of_reading_everything(tmp_path: Path) -> None:
    compare(capture(tmp_path), [3, 250])


def test_pcapng_is_read_in_jumps_whatever_describes_its_interfaces_where(tmp_path: Path) -> None:
    frames = made.merged(made.talks(300))
    third = len(frames) // 3
    # A second interface, with another resolution, is described in the middle, and a second section begins later.
    content = made.pcapng([frames[:third]]) + made.pcapng([frames[third : 2 * third], frames[2 * third :]])
    path = tmp_path / "jumps.pcapng"
    path.write_bytes(content)
    trace = compare([str(path)], [3, 150, 299])
    [index] = [index_file.parsed(Path(f"{path}.vmtrace-index").read_bytes(), "it")]
    assert len(index.stretches) > 2
    some = index.parts({flow for _, flow in trace._result.flows([3])})
    assert sum(length for _, length, *_ in some) < len(content)


def test_an_index_is_found_in_a_folder_of_indexes(tmp_path: Path) -> None:
    paths = capture(tmp_path / "in", files=3)
    expected = packets(read(*paths, options=ONE), [1, 299])
    for path in paths:
        place = tmp_path / "out/indexes" / index_file.name_in_folder(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        index_file.put(str(place), as_bytes(index_file.made(path)[0], path))
    trace = read(*paths, options=ONE._replace(indexes=str(tmp_path / "out/indexes")))
    trace._read_again = None  # type: ignore[assignment]
    assert packets(trace, [1, 299]).equals(expected)


def test_stretches_are_unpacked_once(tmp_path: Path) -> None:
    [path] = capture(tmp_path)
    content = as_bytes(index_file.made(path)[0], path)
    with patch.object(Index, "_unpacked", autospec=True, side_effect=Index._unpacked) as unpacked:
        index = parsed(content, path)
        index.parts({1, 2})
        assert index.stretches
    assert unpacked.call_count == 1


def test_rotated_captures_are_read_by_their_indexes(tmp_path: Path) -> None:
    compare(capture(tmp_path, files=5), [1, 140, 299])


def test_fragments_and_tunnels_are_found_by_the_index(tmp_path: Path) -> None:
    frames: list[made.Frame] = []
    for number, frame in enumerate(made.merged(made.talks(300))):
        is_cut = number % 1500 < 3 and len(frame.packet) > 600 and frame.packet[0] >> 4 == 4
        frames += made.fragmented(frame, number) if is_cut else [made.tunnelled(frame) if number % 7 == 0 else frame]
    frames.sort(key=lambda frame: frame.time_ns)
    paths = [str(path) for path in made.written(tmp_path, [frames])]
    compare(paths, [2, 77, 290])


def test_a_capture_that_is_cut_short_at_its_end_has_an_index(tmp_path: Path) -> None:
    [path] = capture(tmp_path)
    Path(path).write_bytes(Path(path).read_bytes()[:-333])
    compare([path], [3, 300])


@pytest.mark.parametrize("what", ["compressed", "damaged", "put into order"])
def test_what_cannot_be_read_from_the_middle_has_no_index(tmp_path: Path, what: str) -> None:
    frames = made.merged(made.talks(120))
    if what == "put into order":
        frames[100], frames[105] = frames[105], frames[100]
    [path] = made.written(tmp_path, [frames], packed=what == "compressed")
    if what == "damaged":
        content = bytearray(path.read_bytes())
        content[5000:8000] = b"\xff" * 3000
        path.write_bytes(content)
    index, _ = index_file.made(str(path))
    assert what in (index.obstacle or "")


def test_an_index_of_another_version_is_refused_in_one_line(tmp_path: Path) -> None:
    paths = capture(tmp_path)
    indexed(paths)
    Path(paths[0]).write_bytes(Path(paths[0]).read_bytes() + bytes(16))
    trace = read(*paths, options=ONE)
    assert len(packets(trace, [3])) > 0
    [problem] = trace.index_problems
    assert "another size now" in problem
    assert "vmtrace index" in problem


def test_a_filter_reads_everything(tmp_path: Path) -> None:
    paths = capture(tmp_path, 40)
    indexed(paths)
    expected = packets(read(*paths, options=ONE._replace(filter="tcp port 20003")), [1])
    assert len(expected) > 0


def test_an_index_survives_its_writing() -> None:
    index = Index(Version(100, "tag"), 7, None, b"")
    assert parsed(as_bytes(index, "a.pcap"), "a.pcap.vmtrace-index") == index


@pytest.mark.parametrize("content", [b"", b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"schema":"vmtrace.index/9"}\n'])
def test_what_is_no_index_is_refused(content: bytes) -> None:
    with pytest.raises(IndexFileError, match="make it again"):
        parsed(content, "x")


@given(st.data())
def test_a_damaged_index_is_refused_or_read(data: st.DataObject) -> None:
    content = bytearray(as_bytes(Index(Version(9000, "1"), 7, None, bytes(25)), "a.pcap"))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    try:
        parsed(bytes(content[: data.draw(st.integers(0, len(content)))]), "a")
    except IndexFileError:
        return

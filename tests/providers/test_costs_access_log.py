"""Access logs of S3 are traces: what was done to objects counts, in the order of time, and the rest is counted."""

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[2]))

from vmtrace.providers.costs.access_log import AccessLog, is_access_log
from vmtrace.providers.costs.chunk import DELETE, LIST, READ, WRITE
from vmtrace.providers.costs.simulate import Wanted, replay, workload_of
from vmtrace.providers.costs.trace import Trace, TraceError


def line(time: str, operation: str, key: str, sent: object = "-", size: object = "-", **given: str) -> str:
    """One as S3 writes it, with the fields of a later version behind."""
    status, address = given.get("status", "200"), given.get("address", "198.51.100.7")
    return (
        f'79a5 bucket [06/Feb/2026:{time} +0000] {address} 79a5 3E57 {operation} {key} "GET /{key}?x=a%20b HTTP/1.1" '
        f'{status} - {sent} {size} 70 10 "-" "curl/8 (a b)" - s9lz= SigV4 ECDHE AuthHeader host TLSv1.3 - -'
    )


LINES = (
    line("10:00:02", "REST.GET.OBJECT", "a", 10, 30),
    line("10:00:01", "REST.PUT.OBJECT", "a", "-", 30),
    line("10:00:03", "REST.PUT.PART", "big", "-", 50),
    line("10:00:04", "REST.PUT.PART", "big", "-", 50),
    line("10:00:05", "REST.POST.UPLOAD", "big", 300, 100),
    line("10:00:06", "REST.GET.BUCKET", "-", 900),
    line("10:00:07", "REST.GET.OBJECT", "gone", 200, status="404"),
    line("10:00:08", "REST.GET.VERSIONING", "-", 113),
    line("10:00:09", "REST.GET.OBJECT", "big", 100, 100, address="10.1.2.3"),
    line("10:00:10", "REST.DELETE.OBJECT", "a", "-", 30, status="204"),
    "not a line of a log",
)


def test_what_was_done_is_sorted_by_time_and_the_rest_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("\n".join(LINES) + "\n")
    trace = Trace(path, None)
    (chunk,) = trace
    assert (chunk.times - chunk.times[0]).tolist() == [0, 1, 2, 3, 4, 5, 8, 9]
    assert chunk.operations.tolist() == [WRITE, READ, LIST, LIST, WRITE, LIST, READ, DELETE]
    assert chunk.sizes.tolist() == [30, 10, 0, 0, 100, 0, 100, 0]
    assert chunk.outside.tolist() == [True] * 6 + [False, True]
    assert trace.notes == [
        "lines of the access log that were left out: 1 failed, 1 about no object's content, 1 of another format"
    ]
    assert not trace.has_place


def test_files_of_a_folder_are_one_log_compressed_or_not(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "2026/02").mkdir(parents=True)
    (folder / "2026-02-06-10-00-00-AAAA").write_text("\n".join(LINES[:1]) + "\n")
    (folder / "2026/02/06.gz").write_bytes(gzip.compress("\n".join(LINES[1:]).encode()))
    workload = workload_of(replay(folder, Wanted()))
    found = replay(folder, Wanted())
    assert (found.rows, found.objects) == (8, 3)
    assert workload.same_region_share == pytest.approx(100 / 240)


def test_offsets_of_time_zones_count(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(LINES[0] + "\n" + LINES[1].replace("+0000", "-0100") + "\n")
    (chunk,) = Trace(path, None)
    assert (chunk.times[1] - chunk.times[0]) == 3599


@pytest.mark.parametrize("content", ["", "time,object,bytes\n0,a,1\n", "hello\n"])
def test_what_is_no_log_is_not_taken_for_one(tmp_path: Path, content: str) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    assert not is_access_log(path)


def test_a_log_of_nothing_that_counts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(LINES[7] + "\n")
    with pytest.raises(TraceError, match="no access in it"):
        list(Trace(path, None))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="not a file"):
        list(Trace(tmp_path / "empty", None))


@given(st.binary(max_size=300))
def test_any_bytes_after_a_first_line_are_read(tmp_path_factory: pytest.TempPathFactory, rest: bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "log"
    path.write_bytes(LINES[0].encode() + b"\n" + rest)
    log = AccessLog(path, lambda _: None)
    batch = log.batch()
    assert batch.num_rows >= 1

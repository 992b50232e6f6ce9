"""ICMP errors belong to the connections that one process gives them to, in whichever bucket these are."""

import struct
from pathlib import Path

import pytest

from tests.corpus import captures_made as made
from tests.corpus.oracle import assert_same, run
from vmtrace.corpus.engine import Record
from vmtrace.corpus.icmp import Given, given

ROUTER = "192.0.2.9"


@pytest.fixture(autouse=True)
def _runs_of_one_file_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.corpus.planning.ONE_TASK_BYTES", 0)
    monkeypatch.setattr("vmtrace.corpus.planning._LEAST_RUN_BYTES", 1)
    monkeypatch.setattr("vmtrace.corpus.planning._RUNS_PER_WORKER", 1000)


def syn(number: int, *, server: str = "10.1.0.9", port: int = 443) -> bytes:
    client = f"10.0.0.{number + 1}"
    return made.ip(client, server, made.tcp(client, server, 30_000 + number, port, made.SYN, 7000 * number, 0, b""))


def error(at_ns: int, quoted: bytes, kind: int = 3, code: int = 1, to: str = "10.0.0.1") -> made.Frame:
    return made.Frame(at_ns, made.ip(ROUTER, to, struct.pack("!BBHI", kind, code, 0, 0) + quoted[:28], 1))


def echo(at_ns: int, sequence: int, *, is_reply: bool) -> made.Frame:
    ends = (ROUTER, "10.0.0.1") if is_reply else ("10.0.0.1", ROUTER)
    return made.Frame(at_ns, made.ip(*ends, struct.pack("!BBHHH", 0 if is_reply else 8, 0, 0, 77, sequence), 1))


def behind_nat(quoted: bytes) -> bytes:
    """The quote as the other side of an address translation has it."""
    return quoted[:12] + bytes([203, 0, 113, 5]) + quoted[16:20] + struct.pack("!H", 61_000) + quoted[22:]


def written(tmp_path: Path) -> list[str]:
    """Attempts that ICMP ends: quoted as they were sent, behind a translation, of two that fit, and of none."""
    frames = made.merged(made.talks(40))
    for number in range(12):
        at_ns = made.START_NS + number * 150_000_000
        frames.append(made.Frame(at_ns, syn(number)))
        quoted = syn(number) if number % 2 else behind_nat(syn(number))
        frames.append(error(at_ns + 4_000_000, quoted, code=13 if number % 3 else 1))
    twins = [syn(20, port=8443), syn(21, port=8443)]
    twins[1] = twins[1][:24] + twins[0][24:28] + twins[1][28:]
    frames += [made.Frame(made.START_NS + 70_000_000 + place, twin) for place, twin in enumerate(twins)]
    frames.append(error(made.START_NS + 90_000_000, behind_nat(twins[0])))
    frames.append(error(made.START_NS + 95_000_000, syn(50, server="10.9.9.9")))
    # Both addresses of the quote are others; only who received the error and the number show which connection it is.
    for number in (30, 31, 32):
        at_ns = made.START_NS + 100_000_000 + number
        frames.append(made.Frame(at_ns, syn(number, port=9443)))
        elsewhere = behind_nat(syn(number, server="203.0.113.80", port=9443))
        frames.append(error(at_ns + 3_000_000, elsewhere, kind=3, code=4, to=f"10.0.0.{number + 1}"))
    for sequence in range(9):
        frames.append(echo(made.START_NS + sequence * 200_000_000, sequence, is_reply=False))
        if sequence != 4:
            frames.append(echo(made.START_NS + sequence * 200_000_000 + 6_000_000, sequence, is_reply=True))
    frames.sort(key=lambda frame: frame.time_ns)
    return [str(path) for path in made.written(tmp_path / "in", made.rotated(frames, 6))]


@pytest.mark.parametrize("buckets", [1, 8, 64])
def test_errors_and_echoes_are_those_of_one_process(tmp_path: Path, buckets: int) -> None:
    paths = written(tmp_path)
    run(paths, tmp_path / "out", buckets)
    trace = assert_same(tmp_path / "out", paths)
    with_errors = [record for record in trace.json()["connections"] if record.get("icmp_errors")]
    assert len(with_errors) == 12
    assert len([record for record in trace.json()["connections"] if record.get("icmp_errors_related")]) == 3
    assert len(trace.echoes) == 9


def row(server: str) -> list[object]:
    return [0, 1, 3, 1, ROUTER, None, "203.0.113.5", server, 1, 443, 7]


def test_an_error_goes_to_the_only_connection_that_fits() -> None:
    errors = [row("10.1.0.1"), row("10.1.0.1"), row("10.1.0.1"), row("10.1.0.2")]
    buckets: list[Record] = [
        {"icmp": [0], "icmp_fit": {"1": 1, "2": 1}, "icmp_related": {"2": 1}},
        {"icmp": [], "icmp_fit": {"0": 1, "2": 1, "3": 1}, "icmp_related": {"0": 1, "1": 1, "3": 1}},
    ]
    assert given(errors, buckets) == [Given((1,), (2,)), Given((3,), ())]


def test_of_errors_about_one_server_as_many_are_tried_as_in_one_process() -> None:
    errors = [row("10.1.0.1")] * 70
    fit = {str(place): 1 for place in range(70)}
    assert given(errors, [{"icmp": [], "icmp_fit": fit, "icmp_related": {}}]) == [Given(tuple(range(64)))]
    assert given(errors, [{"icmp": [], "icmp_fit": {}, "icmp_related": fit}]) == [Given((), tuple(range(64)))]

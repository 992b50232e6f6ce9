"""`vmtrace annotate`, as it is called."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.vmtrace.conftest import Vmtrace

SAMPLES = Path(__file__).parents[2] / "samples"


def dump(path: Path) -> str:
    """Bytes and times of all packets."""
    words = ["tshark", "-r", str(path), "-t", "e", "-x"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")
@pytest.mark.parametrize("name", ["lossy-sender.pcap", "ipv6.pcapng", "short-connections.pcap.gz"])
def test_packets_are_the_same_and_the_next_command_is_said(name: str, tmp_path: Path, vmtrace: Vmtrace) -> None:
    place = tmp_path / "out.pcapng"
    done = vmtrace("annotate", SAMPLES / name, "--write", place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "packets, " in done.stdout
    assert f"next:  wireshark {place}" in done.stdout
    assert dump(place) == dump(SAMPLES / name)


def test_nothing_is_overwritten_unless_it_is_said(tmp_path: Path, vmtrace: Vmtrace) -> None:
    place = tmp_path / "out.pcapng"
    place.write_bytes(b"mine")
    done = vmtrace("annotate", SAMPLES / "tls13.pcap", "--write", place)
    assert (done.returncode, done.stderr) == (
        2,
        f"vmtrace: --write {place}: this file exists; --overwrite replaces it\n",
    )
    assert place.read_bytes() == b"mine"
    assert vmtrace("annotate", SAMPLES / "tls13.pcap", "--write", place, "--overwrite", "-q").returncode == 0
    assert place.read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    own = tmp_path / "own.pcap"
    shutil.copy(SAMPLES / "tls13.pcap", own)
    assert vmtrace("annotate", own, "--write", own, "--overwrite").returncode == 2


def test_connections_are_chosen_by_number(tmp_path: Path, vmtrace: Vmtrace) -> None:
    place = tmp_path / "out.pcapng"
    path = SAMPLES / "short-connections.pcap.gz"
    assert vmtrace("annotate", path, "--connection", "1", "--write", place).returncode == 0
    done = vmtrace("annotate", path, "--connection", "99999", "--write", tmp_path / "b")
    assert done.returncode == 1
    assert "no connection 99999" in done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"nothing of the kind" * 9, gzip.compress((SAMPLES / "tls13.pcap").read_bytes())[:-20]]
)
def test_what_is_no_capture_is_one_line_and_leaves_no_file(content: bytes, tmp_path: Path, vmtrace: Vmtrace) -> None:
    path, place = tmp_path / "in.pcap", tmp_path / "out.pcapng"
    path.write_bytes(content)
    done = vmtrace("annotate", path, "--write", place)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [path]

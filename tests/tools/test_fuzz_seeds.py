"""The seeds are what they claim to be, so that fuzzing starts where it is interesting."""

import gzip
import importlib.util
import lzma
import ssl
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import dpkt
import pytest

SCRIPT = Path(__file__).parents[2] / "tools/fuzz_seeds.py"


@pytest.fixture(scope="module")
def seeds() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_seeds", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_target_has_seeds_of_different_names(seeds: ModuleType) -> None:
    cargo = (SCRIPT.parents[1] / "analyze/engine/fuzz/Cargo.toml").read_text()
    assert all(f'name = "{target}"' in cargo for target in seeds.TARGETS)
    assert cargo.count("[[bin]]") == len(seeds.TARGETS)
    for make in seeds.TARGETS.values():
        names = [name for name, _ in make()]
        assert len(names) == len(set(names)) > 3


def test_the_frame_is_one_that_another_program_understands(seeds: ModuleType) -> None:
    tcp = dpkt.ethernet.Ethernet(seeds.FRAME).data.data
    assert (tcp.sport, tcp.dport, tcp.data) == (40000, 443, b"hello, world")


def test_the_pcap_file_is_one_that_another_program_reads(seeds: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(seeds.pcap())
    with path.open("rb") as file:
        assert [frame for _, frame in dpkt.pcap.Reader(file)] == [seeds.FRAME, seeds.FRAME]


def test_the_pcapng_file_is_one_that_another_program_reads(seeds: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(seeds.pcapng())
    with path.open("rb") as file:
        assert seeds.FRAME in [frame for _, frame in dpkt.pcapng.Reader(file)]


def test_the_tls_streams_hold_a_finished_handshake(seeds: ModuleType) -> None:
    client, server = seeds._handshake_without_certificate()
    content_types = {stream[0] for stream in (client, server)}
    assert content_types == {22}
    assert len(server) > 8 * 100
    assert ssl.OPENSSL_VERSION


def test_compressed_seeds_unpack_to_the_capture(seeds: ModuleType) -> None:
    packed = dict(seeds.read_compressed())
    assert gzip.decompress(seeds.COMPRESSIONS[0] + packed["gzip"][1:]) == seeds.pcap()
    assert lzma.decompress(seeds.COMPRESSIONS[2] + packed["xz"][1:]) == seeds.pcap()


def test_samples_become_seeds_of_the_readers(seeds: ModuleType, tmp_path: Path) -> None:
    samples, out = tmp_path / "samples", tmp_path / "out"
    samples.mkdir()
    (samples / "a.pcap").write_bytes(seeds.pcap())
    (samples / "b.pcapng").write_bytes(seeds.pcapng())
    assert seeds.write(out, samples) > 60
    assert (out / "read_pcap/a.pcap").read_bytes() == b"\0" + seeds.pcap()[4:]
    assert (out / "read_pcapng/b.pcapng").read_bytes() == seeds.pcapng()[4:]
    assert (out / "whole_analysis/a.pcap").read_bytes() == seeds.pcap()


def test_the_script_runs(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("fuzz seeds: ")

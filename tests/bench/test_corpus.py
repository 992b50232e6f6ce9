"""The corpus that is measured on is the capture it was cut from."""

from pathlib import Path

from bench.corpus import rotate
from vmtrace.analyze.read.grouping import Grouping
from vmtrace.analyze.trace import Options, read

SAMPLE = Path(__file__).parents[2] / "samples/lossy-sender.pcap"


def test_a_rotated_capture_holds_what_it_was_cut_from(tmp_path: Path) -> None:
    plain = rotate(SAMPLE, tmp_path / "plain", 5, packed=False)
    packed = rotate(SAMPLE, tmp_path / "packed", 5, packed=True)
    whole = read(SAMPLE)
    for files in (plain, packed):
        assert len(files) == 5
        parts = read(*map(str, files), options=Options(grouping=Grouping.MERGE))
        assert parts.values("ledger_wire_bytes") == whole.values("ledger_wire_bytes")

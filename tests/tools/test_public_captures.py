"""The table of judged differences: well formed, and what it says is what a run finds."""

import shutil
import subprocess
from pathlib import Path

from tools import public_captures

SAMPLES = Path(__file__).parents[2] / "samples"


def _committed(folder: Path, *names: str) -> str:
    folder.mkdir(parents=True)
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    author = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), (*author, "commit", "-qm", "captures")):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    return public_captures.git(folder, "rev-parse", "HEAD").decode().strip()


def test_a_difference_that_nobody_judged_is_reported(tmp_path: Path) -> None:
    commit = _committed(tmp_path / "some+one", "damaged.pcap", "tls13.pcap")
    table = tmp_path / "table.tsv"
    table.write_text(f"# remark\nsome/one\t{commit}\t\t\t\t\tall of it\nother/one\tabc\tx\tpackets\t1\t2\tnot here\n")
    found = list(public_captures.compare(tmp_path, table))
    assert {line.split(":")[0] for line in found} == {
        "some/one damaged.pcap packets",
        "some/one damaged.pcap unique bytes",
    }
    numbers = public_captures.differences((SAMPLES / "damaged.pcap").read_bytes(), "damaged.pcap")
    rows = [f"some/one\t{commit}\tdamaged.pcap\t{name}\t{a}\t{b}\tread\n" for name, (a, b) in numbers.items()]
    table.write_text("".join(rows))
    assert list(public_captures.compare(tmp_path, table)) == []
    table.write_text("".join(rows).replace("damaged", "gone"))
    assert len(list(public_captures.compare(tmp_path, table))) == 4


def test_every_row_of_the_table_says_who_is_right() -> None:
    rows = public_captures.judged()
    assert len({(row.repository, row.path, row.number) for row in rows}) == len(rows)
    assert all(len(row.commit) == 40 and row.why for row in rows)
    assert {row.number for row in rows if row.path} <= {"packets", "handshakes", "unique bytes"}

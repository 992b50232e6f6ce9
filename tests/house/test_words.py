"""What must not be committed: names of one machine, addresses of registries, unfinished work."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Written by cargo: names the registry of each crate.
GENERATED = {"Cargo.lock"}

# Each is written so that it does not match itself.
MACHINE = re.compile(r"/wor[k]/|/tmp/targe[t]|/tmp/ven[v]|/roo[t]/|/home/[a-z]")
REGISTRY = re.compile(
    r"pypi\.or[g]|pythonhosted\.or[g]|crates\.i[o]|npmjs\.(or[g]|com)|(static\.rust-lang|deb\.debian)\.or[g]"
)
UNFINISHED = re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b|NotImplemente[d]|unimplemented[!]|\btodo[!]")


def committed_texts() -> list[tuple[str, str]]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    texts = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.name in GENERATED or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data[:8192]:
            texts.append((name, data.decode("utf-8", "replace")))
    return texts


@pytest.mark.parametrize("pattern", [MACHINE, REGISTRY, UNFINISHED], ids=["machine", "registry", "unfinished"])
def test_no_committed_text_has(pattern: re.Pattern[str]) -> None:
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in committed_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []

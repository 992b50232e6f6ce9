"""Holds the engine's output still while its code moves: hashes of all it says are compared with committed ones.

    python -m tools.engine_net [--freeze] [--captures DIR]... [--keep DIR] [--all] [--only TEXT]

`make net` compares, `make net-freeze` writes. For each capture there are three hashes: of the JSON (the version left
out, the path its file name), of the packet rows of all connections, and of the tables: connections, SYNs, name lookups.
A capture is a file of `samples/`, one made by `bench_generate` or `tools.engine_net_captures`, or a file of a folder:
those that are named, or the collection that VMTRACE_TRACES names or that lies beside the project. Hashes of captures
that are not there are left alone.

The first capture that differs is named. `--keep` leaves the outputs of all that differ; a run of another build with
`--keep` and `--all` leaves what they can be compared with: `python -m tools.engine_net_diff OLD NEW`.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools import engine_net_captures
from vmtrace.analyze import _engine

ROOT = Path(__file__).parents[1]
HASHES = ROOT / "tools/engine_net.txt"
# Arguments of bench_generate, by name of the capture.
BENCH = {
    "bench-few": ("bulk", "--flows", "8", "--packets", "20000", "--loss", "0.003"),
    "bench-one": ("bulk", "--flows", "1", "--packets", "10000", "--loss", "0.01", "--seed", "2"),
    "bench-many": ("bulk", "--flows", "100", "--packets", "15000", "--loss", "0.002", "--seed", "3"),
    "bench-pcapng": ("bulk", "--flows", "3", "--packets", "6000", "--format", "pcapng", "--seed", "4"),
    "bench-short": ("short", "--connections", "400", "--loss", "0.02"),
    "bench-open": ("open", "--connections", "200", "--seed", "5"),
}
# No captures, though they lie beside some.
OTHER_FILES = {".tsv", ".json", ".md", ".py", ".txt"}
_HASH_LENGTH = 20
_HEAD = "# name, JSON, packet rows, tables: python -m tools.engine_net --freeze"


@dataclass(frozen=True, slots=True)
class Hashes:
    """What the engine said of one capture."""

    name: str
    json: str
    rows: str
    tables: str

    def differing(self, other: "Hashes") -> list[str]:
        """Which of the outputs differ."""
        pairs = (
            ("JSON", self.json, other.json),
            ("rows", self.rows, other.rows),
            ("tables", self.tables, other.tables),
        )
        return [name for name, one, another in pairs if one != another]


@dataclass(frozen=True, slots=True)
class Outputs:
    """All that the engine says of one capture, as text."""

    json: str
    rows: str
    tables: str

    def hashes(self, name: str) -> Hashes:
        """The hash of each."""
        return Hashes(name, *(_hash(text) for text in (self.json, self.rows, self.tables)))

    def write(self, folder: Path, name: str) -> None:
        """Writes each to a file of its own, JSON with a field a line."""
        folder.mkdir(parents=True, exist_ok=True)
        try:
            pretty = json.dumps(json.loads(self.json), indent=1)
        except json.JSONDecodeError:
            pretty = self.json
        for kind, text in (("json", pretty), ("rows", self.rows), ("tables", self.tables)):
            (folder / f"{name}.{kind}").write_text(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compares or freezes; 1 if something differs, 2 if the command line is wrong."""
    options = _options().parse_args(arguments)
    folders = options.captures or collection()
    for folder in folders:
        if not folder.is_dir():
            print(f"engine_net: no folder {folder}", file=sys.stderr)
            return 2
    with tempfile.TemporaryDirectory() as made:
        paths = [path for path in captures(folders, Path(made), options.binaries) if options.only in path.name]
        if options.freeze:
            return _freeze(paths)
        return _compare(paths, options.keep, keep_all=options.all)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.engine_net", description="Hashes of the engine's output.")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--freeze", action="store_true", help="write the hashes instead of comparing them")
    parser.add_argument(
        "--captures", type=Path, action="append", default=[], metavar="DIR", help="a folder of captures"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the outputs of captures that differ there")
    parser.add_argument("--all", action="store_true", help="with --keep: the outputs of those, too, that do not differ")
    parser.add_argument("--only", default="", metavar="TEXT", help="captures with this in their names")
    parser.add_argument("--binaries", type=Path, default=target / "release/examples", help="where bench_generate is")
    return parser


def collection() -> list[Path]:
    """The collection of captures, if there is one here."""
    folder = Path(os.environ.get("VMTRACE_TRACES", ROOT.parent / "shared/traces"))
    return [folder] if folder.is_dir() else []


def captures(folders: Sequence[Path], made: Path, binaries: Path) -> Iterator[Path]:
    """The samples, the captures that are made (those of bench_generate if that is built), and those of the folders."""
    yield from _files(ROOT / "samples")
    yield from engine_net_captures.write_all(made)
    generator = binaries / "bench_generate"
    if generator.exists():
        yield from (_generated(generator, made, name) for name in BENCH)
    else:
        print(f"engine_net: without bench_generate, which is not in {binaries}", file=sys.stderr)
    for folder in folders:
        yield from _files(folder)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix not in OTHER_FILES)


def _generated(generator: Path, folder: Path, name: str) -> Path:
    path = folder / f"{name}.{'pcapng' if 'pcapng' in BENCH[name] else 'pcap'}"
    kind, *options = BENCH[name]
    subprocess.run([str(generator), kind, str(path), *options], check=True)
    return path


# --- what the engine says ---


def outputs_of(path: Path) -> Outputs:
    """Analyses a capture twice: as most do, and with the packets of all connections."""
    try:
        analysis = _engine.analyze([[(str(path), path.name)]])
        count = len(analysis)
        detailed = _engine.analyze([[(str(path), path.name)]], detail_connections=range(1, count + 1))
    except (_engine.TraceError, OSError) as error:
        # A refusal is an output, too.
        return Outputs(f"{type(error).__name__}: {error}".replace(str(path), path.name), "", "")
    tables = {
        "connections": analysis.connections(),
        "connections with packets": detailed.connections(),
        "syns": analysis.syns(),
        "lookups": analysis.lookups(),
    }
    text = "\n".join(f"== {name}\n{_table(table)}" for name, table in tables.items())
    return Outputs(_json(analysis, path), _table(detailed.packets()), text)


def _json(analysis: _engine.Analysis, path: Path) -> str:
    parts: list[bytes] = []
    analysis.write_json(parts.append, vmtrace_version="0", input_paths=[path.name])
    return b"".join(parts).decode()


def _table(columns: _engine.Columns) -> str:
    """A line for each column: its name and all its values."""
    return "\n".join(f"{name}: {_values(columns.values(name))}" for name in columns.names)


def _values(values: list[Any]) -> str:
    return " ".join(map(repr, values))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


# --- the committed file ---


def read_hashes(path: Path = HASHES) -> dict[str, Hashes]:
    """The hashes by the name of the capture."""
    lines = path.read_text().splitlines() if path.exists() else []
    found = (Hashes(*line.split()) for line in lines if line and not line.startswith("#"))
    return {one.name: one for one in found}


def write_hashes(hashes: dict[str, Hashes], path: Path = HASHES) -> None:
    """Writes them, a line for each capture, by name."""
    lines = [f"{one.name} {one.json} {one.rows} {one.tables}" for _, one in sorted(hashes.items())]
    path.write_text("\n".join([_HEAD, *lines]) + "\n")


def _freeze(paths: Sequence[Path]) -> int:
    known = read_hashes()
    known.update({path.name: outputs_of(path).hashes(path.name) for path in paths})
    write_hashes(known)
    print(f"engine_net: {len(paths)} captures written to {HASHES.relative_to(ROOT)}")
    return 0


def _compare(paths: Sequence[Path], keep: Path | None, *, keep_all: bool) -> int:
    known = read_hashes()
    differing: list[str] = []
    for path in paths:
        if path.name not in known:
            continue
        outputs = outputs_of(path)
        kinds = known[path.name].differing(outputs.hashes(path.name))
        if kinds and not differing:
            print(f"engine_net: {path.name} differs in {', '.join(kinds)}")
        if kinds:
            differing.append(path.name)
        if keep is not None and (kinds or keep_all):
            outputs.write(keep, path.name)
    new = [path.name for path in paths if path.name not in known]
    if new:
        print(f"engine_net: not frozen yet: {', '.join(new)}")
    print(f"engine_net: {len(paths) - len(new)} captures compared, {len(differing)} differ")
    if differing and keep is None:
        print("  --keep DIR leaves their outputs, to be compared with those of another build")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

"""Damages captures at random and gives them to the engine: the child process of `test_damaged_captures.py`.

    python -m tests.strength.damage FILE FIRST_SEED COUNT
    python -m tests.strength.damage --seconds 1200 FOLDER...

Before each variant its description is printed, so that the last line tells what a crash or a hang was given. Ends with
`done`; an exception that is no clear error of the engine ends it with a traceback. What a document says must be as the
JSON Schema says, and must not contradict itself. The second form goes on with all captures of the folders, and prints
what was found.
"""

import gzip
import random
import sys
import time
import traceback
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import jsonschema

import vmtrace
from tests.traces.invariants import contradictions
from vmtrace.analyze.tables.schema import load

GZIP = b"\x1f\x8b"
NAMES = {".pcap", ".pcapng", ".dmp", ".dump", ".snoop"}
CONNECTIONS_BY_SCHEMA = 20
LONGEST_S = 10.0
_VALIDATOR = jsonschema.Draft202012Validator(load())


def variant(original: bytes, seed: int) -> tuple[str, bytes]:
    """A damaged copy, the same for the same seed, and what was done to it."""
    dice = random.Random(seed)
    data = bytearray(original)
    what = f"seed {seed}:"
    if data.startswith(GZIP) and dice.random() < 0.7:
        data = bytearray(gzip.decompress(original))
        what += " unpacked,"
    if dice.random() < 0.5:
        count = dice.choice((1, 3, 10, 100, 1 + len(data) // 1000))
        for _ in range(count):
            # Half of all flips hit the first kilobyte, where headers are.
            place = dice.randrange(min(len(data), 1024) if dice.random() < 0.5 else len(data))
            data[place] ^= dice.randrange(1, 256)
        what += f" {count} bytes flipped,"
    if dice.random() < 0.5:
        end = dice.randrange(len(data) + 1)
        del data[end:]
        what += f" cut at {end},"
    return what, bytes(data)


def analyse(data: bytes) -> str:
    """The whole engine on a file: the clear error, or what was found."""
    try:
        trace = vmtrace.read(data)
    except vmtrace.TraceError as error:
        return f"error: {str(error)!r}"
    document = trace.json()
    wrong = list(contradictions(document))
    # All of them would take longer than their analysis.
    some = {**document, "connections": document["connections"][:CONNECTIONS_BY_SCHEMA]}
    wrong += [f"{error.json_path}: {error.message[:200]}" for error in _VALIDATOR.iter_errors(some)]
    assert not wrong, f"{len(wrong)} contradictions: {'; '.join(wrong[:5])}"
    return f"{len(trace)} connections"


def endless(seconds: float, folders: Sequence[str]) -> int:
    """Goes on with all captures of the folders; returns how many variants are wrong."""
    files = [path for folder in folders for path in sorted(Path(folder).iterdir()) if NAMES & set(path.suffixes)]
    until_s, found, variants = time.monotonic() + seconds, 0, 0
    for seed in count(int(time.time())):
        path = random.Random(seed).choice(files)
        what, data = variant(path.read_bytes(), seed)
        variants += 1
        began_s = time.process_time()
        try:
            analyse(data)
            took_s = time.process_time() - began_s
            wrong = f"{took_s:.1f} s" if took_s > LONGEST_S else ""
        except Exception:  # noqa: BLE001 - each is a finding
            wrong = traceback.format_exc(limit=1)
        if wrong:
            found += 1
            print(path, what, wrong, flush=True)
        if time.monotonic() > until_s:
            break
    print(f"{variants} variants of {len(files)} captures, {found} wrong")
    return found


def main() -> None:
    """Runs `COUNT` variants of `FILE`, or variants for some time."""
    if sys.argv[1] == "--seconds":
        sys.exit(min(endless(float(sys.argv[2]), sys.argv[3:]), 1))
    path, first, variants = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    original = path.read_bytes()
    for seed in range(first, first + variants):
        what, data = variant(original, seed)
        print(what, end=" ", flush=True)
        print(analyse(data), flush=True)
    print("done")


if __name__ == "__main__":
    main()

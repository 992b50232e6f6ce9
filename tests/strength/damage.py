"""Damages captures at random and gives them to the engine: the child process of `test_damaged_captures.py`.

    python damage.py FILE FIRST_SEED COUNT

Before each variant its description is printed, so that the last line tells what a crash or a hang was given. Ends with
`done`; an exception that is no clear error of the engine ends it with a traceback.
"""

import gzip
import random
import sys
from pathlib import Path

import vmtrace

GZIP = b"\x1f\x8b"


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
    pieces: list[bytes] = []
    trace.write_json(pieces.append)
    assert b"".join(pieces).rstrip().endswith(b"}"), "the JSON has no end"
    return f"{len(trace)} connections"


def main() -> None:
    """Runs `COUNT` variants of `FILE`."""
    path, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    original = path.read_bytes()
    for seed in range(first, first + count):
        what, data = variant(original, seed)
        print(what, end=" ", flush=True)
        print(analyse(data), flush=True)
    print("done")


if __name__ == "__main__":
    main()

"""`tools/repeat_failed.py MOST PYTEST ARGUMENT...`: runs pytest, and what failed up to twice more, each time alone.

Tests of real kernels and servers depend on when a busy machine lets them run. One that fails by that passes when it is
repeated alone, and is listed as such; a defect fails every time. More than MOST failures are no accident: nothing is
repeated then. MOST is 0 for who runs the tests at home.
"""

import json
import subprocess
import sys
from pathlib import Path

_TESTS_FAILED = 1
"""The exit status of pytest for that; others are errors of another kind."""
_REPETITIONS = 2
_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """The exit status of the last run."""
    most, command = int(arguments[0]), arguments[1:]
    _FAILED.unlink(missing_ok=True)
    status = subprocess.run(command, check=False).returncode
    if most == 0 or status != _TESTS_FAILED or not _FAILED.exists():
        return status
    first = _failed()
    if len(first) > most:
        print(f"failed {len(first)} tests, more than {most}: not repeated", flush=True)
        return status
    times = dict.fromkeys(first, 1)
    for _ in range(_REPETITIONS):
        print(f"== pytest once more, what failed: {len(_failed())}", flush=True)
        status = subprocess.run([*command, *_alone(command), "--last-failed"], check=False).returncode
        if status != _TESTS_FAILED:
            break
        times.update({name: times.get(name, 0) + 1 for name in _failed()})
    if status == 0:
        for name, count in times.items():
            print(f"failed {'once' if count == 1 else 'twice'}, passed when repeated: {name}", flush=True)
    return status


def _alone(command: list[str]) -> list[str]:
    """What ends running side by side, if that was asked for."""
    return ["-n", "0"] if "-n" in command else []


def _failed() -> list[str]:
    return list(json.loads(_FAILED.read_text()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

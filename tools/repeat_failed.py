"""`tools/repeat_failed.py MOST PYTEST ARGUMENT...`: runs pytest, and what failed once more in a process of its own.

Tests of real kernels and servers depend on when a busy machine lets them run. One that fails by that passes when it is
repeated alone, and is listed as such; a defect fails twice. More than MOST failures are no accident: nothing is
repeated then. MOST is 0 for who runs the tests at home.
"""

import json
import subprocess
import sys
from pathlib import Path

_TESTS_FAILED = 1
"""The exit status of pytest for that; others are errors of another kind."""
_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    """The exit status of the last run."""
    most, command = int(arguments[0]), arguments[1:]
    _FAILED.unlink(missing_ok=True)
    status = subprocess.run(command, check=False).returncode
    if most == 0 or status != _TESTS_FAILED or not _FAILED.exists():
        return status
    failed = list(json.loads(_FAILED.read_text()))
    if len(failed) > most:
        print(f"failed {len(failed)} tests, more than {most}: not repeated", flush=True)
        return status
    print(f"== pytest once more, what failed: {len(failed)}", flush=True)
    status = subprocess.run([*command, "--last-failed"], check=False).returncode
    if status == 0:
        for name in failed:
            print(f"failed once, passed when repeated: {name}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

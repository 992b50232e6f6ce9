"""A server of the lab reads its settings, serves, and ends by SIGTERM with status 0."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, pathlib, sys
from vmtrace.lab.services.serving import serve_until_ended

async def serve(settings):
    pathlib.Path(settings["ready"]).touch()
    await asyncio.sleep(60)

sys.exit(serve_until_ended(serve))
"""


def test_sigterm_ends_it_in_good_order(tmp_path: Path) -> None:
    ready, settings = tmp_path / "ready", tmp_path / "settings.json"
    settings.write_text(f'{{"ready": "{ready}"}}')
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(settings)], env=os.environ | {"PYTHONPATH": str(ROOT)})
    try:
        ends_s = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < ends_s:
            time.sleep(0.02)
        assert ready.exists()
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
    finally:
        child.kill()
        child.wait()

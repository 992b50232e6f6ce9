"""A server of the lab as a program: its settings are a JSON file, and SIGTERM ends it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any


def serve_until_ended(serve: Callable[[Any], Coroutine[Any, Any, None]]) -> int:
    """Serve by the settings that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(description=serve_until_ended.__doc__)
    parser.add_argument("settings", type=Path)
    settings = json.loads(parser.parse_args().settings.read_text())

    async def run() -> None:
        serving = asyncio.current_task()
        assert serving is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await serve(settings)

    asyncio.run(run())
    return 0

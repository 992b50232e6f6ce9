"""gunicorn's settings file for the moto stand-in: one worker, because state is in the process; connections are logged.

Only gunicorn loads it, in the server's own process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vmtrace.lab.services.accepted import VARIABLE, AcceptedLog

workers = 1
worker_class = "gthread"
threads = 16
keepalive = 60
timeout = 300
graceful_timeout = 1
control_socket_disable = True


def post_worker_init(worker: Any) -> None:
    """Have every listening socket of the worker log what it accepts."""
    log = AcceptedLog(Path(os.environ[VARIABLE]))
    for listener in worker.sockets:
        listener.accept = log.of(listener.accept)

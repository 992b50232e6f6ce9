"""`python -m vmtrace.lab.services.swift_servers ETC PORT PORT PORT`: the four servers of a Swift, until SIGTERM.

Uses what Swift's own start-up uses (`_initrp`, `get_socket`, `run_server`), once for each server, each in a green
thread; only the starter of the stand-in runs it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from vmtrace.lab.services.accepted import VARIABLE, AcceptedLog
from vmtrace.lab.services.swift_settings import write_rings

_SERVERS = ("account", "container", "object", "proxy")


def main() -> int:
    """Serve until a signal ends the process."""
    from swift.common.utils import monkey_patch

    monkey_patch()
    import eventlet
    from swift.common import wsgi

    eventlet.hubs.use_hub(wsgi.get_hub())
    _keep_hub_of_this_thread(eventlet)
    etc = Path(sys.argv[1])
    write_rings(etc, map(int, sys.argv[2:]))
    accepted = AcceptedLog(Path(os.environ[VARIABLE]))
    running = []
    for name in _SERVERS:
        path = str(etc / f"{name}-server.conf")
        conf, logger, log_name = wsgi._initrp(path, f"{name}-server", verbose=True)  # noqa: SLF001 - as its own start-up
        listening = wsgi.get_socket(conf)
        if name == "proxy":
            listening.accept = accepted.of(listening.accept)
        running.append(eventlet.spawn(wsgi.run_server, conf, logger, listening, {"log_name": log_name}))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # nothing to save: the disk is a temporary folder
    for thread in running:
        thread.wait()
    return 1  # a server that stops serving has failed


def _keep_hub_of_this_thread(eventlet: Any) -> None:
    """Each `run_server` chooses a hub, which would take away the one that the servers before it wait on.

    Threads of eventlet's pool still choose their own.
    """
    thread_id = eventlet.patcher.original("_thread").get_ident
    main_thread, use_hub = thread_id(), eventlet.hubs.use_hub

    def only_elsewhere(*arguments: Any) -> None:
        if thread_id() != main_thread:
            use_hub(*arguments)

    eventlet.hubs.use_hub = only_elsewhere


if __name__ == "__main__":
    sys.exit(main())

"""`python -m vmtrace.lab.services.fault_server SETTINGS`: the process of the fault proxy, until SIGTERM.

It accepts and logs connections, terminates TLS, asks the rules about each request and logs their answer; how a request
is passed on or spoiled is `fault_exchange`'s affair.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import ssl
import struct
import sys
import time
from pathlib import Path
from typing import Any

from vmtrace.lab.services import fault_exchange, faults, http_messages
from vmtrace.lab.services.accepted import AcceptedLog
from vmtrace.lab.services.fault_exchange import Stream
from vmtrace.lab.services.faults import Action, Fault, Rules
from vmtrace.lab.services.http_messages import Head
from vmtrace.lab.services.serving import serve_until_ended

READY_PATH = "/-vmtrace-lab-ready"  # answered by the proxy itself, and not logged
_BACKLOG = 512
_HEAD_LIMIT_BYTES = 1 << 20


class _Proxy:
    """The process's state: settings, the rules that are left, the log."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._rules = Rules(faults.from_json(settings["faults"]))
        self._accepted = AcceptedLog(Path(settings["accepted"]))
        self._codes = fault_exchange.AZURE_CODES if settings["azure"] else fault_exchange.S3_CODES
        self._requests = Path(settings["requests"])
        self._most_connections = settings["most_connections"] or math.inf
        self._serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._serving.load_cert_chain(settings["chain"], settings["key"])
        self._trust = ssl.create_default_context(cafile=settings["ca"])
        self._trust.check_hostname = False  # it connects by address

    async def serve(self) -> None:
        """Accept connections until cancelled."""
        listening = socket.create_server((self._settings["address"], self._settings["port"]), backlog=_BACKLOG)
        listening.setblocking(False)
        loop = asyncio.get_running_loop()
        tasks = set[asyncio.Task[None]]()
        while True:
            connection, peer = await loop.sock_accept(listening)
            self._accepted.note(peer)
            if len(tasks) >= self._most_connections:
                _reset(connection)
                continue
            task = asyncio.create_task(self._connection(connection))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    async def _connection(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_HEAD_LIMIT_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._serving)
        except OSError:  # no TLS, or a client that does not trust the chain
            return
        client = Stream(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
        server: Stream | None = None
        try:
            while head := await http_messages.read_head(client.reader):
                if head.start[1] == READY_PATH:
                    await client.send(fault_exchange.answer(200, head.start[0]))
                    break
                fault = self._chosen(head)
                if fault and fault.action is Action.STATUS:
                    usable = await fault_exchange.refuse(client, head, fault, self._codes)
                else:
                    if fault and fault.action is Action.DELAY:
                        await asyncio.sleep(fault.delay_s)
                    if server is None or server.reader.at_eof():
                        server = await self._connect()
                    usable = await fault_exchange.pass_on(client, server, head, fault)
                if not usable:
                    break
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            print(f"connection given up: {error}", flush=True)
        finally:
            client.end()
            if server:
                server.end()

    async def _connect(self) -> Stream:
        address, port = self._settings["server_address"], self._settings["server_port"]
        reader, writer = await asyncio.open_connection(
            address, port, ssl=self._trust, server_hostname=address, limit=_HEAD_LIMIT_BYTES
        )
        return Stream(reader, writer)

    def _chosen(self, head: Head) -> Fault | None:
        """What the rules say of a request, which is logged."""
        method, target, _ = head.start
        fault = self._rules.choose(method, target)
        line = {"unix_ns": time.time_ns(), "method": method, "target": target, "fault": fault and fault.action}
        with self._requests.open("a") as log:
            log.write(json.dumps(line) + "\n")
        return fault


def _reset(connection: socket.socket) -> None:
    """As a service does that allows no more connections."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def main() -> int:
    """`python -m vmtrace.lab.services.fault_server SETTINGS`: serve until SIGTERM."""
    return serve_until_ended(lambda settings: _Proxy(settings).serve())


if __name__ == "__main__":
    sys.exit(main())

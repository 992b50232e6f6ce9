"""A server and a client of aioquic: so many bytes on one stream of each connection. They log what they do (qlog, keys).

Run as a program: `server FOLDER CERTIFICATE KEY`, or `client FOLDER ADDRESS BYTES WINDOW ...` with a window (in bytes)
for each connection.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger

PORT = 4433
PROTOCOL = "lab"


class _Sender(QuicConnectionProtocol):
    """Sends as many bytes as it is asked for."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self._quic.send_stream_data(event.stream_id, bytes(int(event.data)), end_stream=True)


async def _serve(folder: Path, certificate: str, key: str) -> None:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[PROTOCOL])
    configuration.load_cert_chain(certificate, key)
    configuration.quic_logger = QuicFileLogger(str(folder))
    await serve("0.0.0.0", PORT, configuration=configuration, create_protocol=_Sender)
    print("ready", flush=True)
    await asyncio.Event().wait()


async def _fetch(folder: Path, address: str, response_bytes: str, windows: list[str]) -> None:
    with (folder / "keys.log").open("a") as keys:
        for window in windows:
            configuration = QuicConfiguration(is_client=True, alpn_protocols=[PROTOCOL], verify_mode=ssl.CERT_NONE)
            configuration.secrets_log_file = keys
            configuration.max_stream_data = int(window)
            configuration.server_name = "web.lab.test"
            async with connect(address, PORT, configuration=configuration) as client:
                reader, writer = await client.create_stream()
                writer.write(response_bytes.encode())
                writer.write_eof()
                received = await asyncio.wait_for(reader.read(), 20)
                assert len(received) == int(response_bytes)
            keys.flush()


if __name__ == "__main__":
    role, where, *rest = sys.argv[1:]
    asyncio.run(_serve(Path(where), *rest) if role == "server" else _fetch(Path(where), rest[0], rest[1], rest[2:]))

"""One request and its answer through the fault proxy: passed on byte by byte, refused, or spoiled as its rule says."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from vmtrace.lab.services import http_messages
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.http_messages import Framing, Head

_UPLOAD_ENDS_WITHIN_S = 0.2  # after the whole answer: a server that answers early has not read the body
# What a service calls an error, by status; Swift's clients look at the status alone.
S3_CODES: Mapping[int, str] = {500: "InternalError", 503: "SlowDown"}
AZURE_CODES: Mapping[int, str] = {500: "InternalError", 503: "ServerBusy"}
_PHRASES = {200: "OK", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class Stream:
    """One side's connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        """Write, and wait while too much is under way."""
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """End with a TCP RST, and without TLS's goodbye."""
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def end(self) -> None:
        """End with a TCP FIN behind what was sent."""
        with contextlib.suppress(OSError):
            self.writer.close()


class _ResetError(ConnectionError):
    """The rule says that this connection is reset now."""


async def refuse(client: Stream, head: Head, fault: Fault, codes: Mapping[int, str]) -> bool:
    """Take the request's body, as a server under load does, and answer with the fault's status."""
    if "100-continue" in head.fields.get("expect", "").lower():
        await client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    async for _ in http_messages.read_body(client.reader, http_messages.request_framing(head), head.length_bytes):
        pass
    code = fault.code or codes.get(fault.status, "Error")
    words = f"<Code>{code}</Code><Message>{escape(fault.message)}</Message>"
    if fault.detail:
        words += f"<AuthenticationErrorDetail>{escape(fault.detail)}</AuthenticationErrorDetail>"
    body = f'<?xml version="1.0" encoding="utf-8"?><Error>{words}</Error>'.encode()
    await client.send(answer(fault.status, head.start[0], body, f"x-ms-error-code: {code}\r\n"))
    return not head.closes


def answer(status: int, method: str, body: bytes = b"", fields: str = "") -> bytes:
    """An answer of the proxy's own, with XML as its body or with none."""
    head = f"HTTP/1.1 {status} {_PHRASES.get(status, 'Error')}\r\n"
    head += f"Content-Type: application/xml\r\nContent-Length: {len(body)}\r\n{fields}"
    return f"{head}\r\n".encode() + (b"" if method == "HEAD" else body)


async def pass_on(client: Stream, server: Stream, head: Head, fault: Fault | None) -> bool:
    """Carry request and answer at once; False when the client's connection must end."""
    framing = http_messages.request_framing(head)
    body = http_messages.read_body(client.reader, framing, head.length_bytes)
    resets_upload = fault is not None and fault.action is Action.RESET and framing is not Framing.NONE
    try:
        if fault and fault.action is Action.RESET and fault.after_bytes == 0:
            raise _ResetError
        if fault and resets_upload:
            body, fault = _reset_after(body, fault.after_bytes), None
        server.writer.write(head.raw)
        return await _both_ways(_carry(body, server), _carry_answer(client, server, head, fault)) and not head.closes
    except _ResetError:
        client.reset()
        return False


async def _both_ways(sending: Coroutine[Any, Any, None], answering: Coroutine[Any, Any, bool]) -> bool:
    """Whether the connection may be used again: request and answer both went through whole."""
    upload, download = asyncio.create_task(sending), asyncio.create_task(answering)
    try:
        await asyncio.wait({upload, download}, return_when=asyncio.FIRST_COMPLETED)
        if upload.done():
            upload.result()
        usable = await download
        await asyncio.wait({upload}, timeout=_UPLOAD_ENDS_WITHIN_S)
        return usable and upload.done() and upload.exception() is None
    finally:
        for task in (upload, download):
            task.cancel()
        await asyncio.gather(upload, download, return_exceptions=True)


async def _carry(body: AsyncIterator[bytes], to: Stream) -> None:
    async for part in body:
        await to.send(part)
    await to.writer.drain()


async def _carry_answer(client: Stream, server: Stream, request: Head, fault: Fault | None) -> bool:
    """The answer, with what comes before it (100 Continue); False when the connection must end."""
    while True:
        head = await http_messages.read_head(server.reader)
        if head is None:
            raise ConnectionResetError("the server closed the connection without a response")
        if head.status >= 200:
            break
        await client.send(head.raw)
    framing = http_messages.answer_framing(head, request.start[0])
    body = http_messages.read_body(server.reader, framing, head.length_bytes)
    if fault and fault.action is Action.ETAG:
        head = _with_field(head, b"ETag", b'"%s"' % (b"0" * 32))
    elif fault and fault.action is not Action.DELAY and framing is not Framing.NONE:
        return await _spoiled(client, head, body, fault)
    await client.send(head.raw)
    await _carry(body, client)
    return not head.closes and framing is not Framing.UNTIL_CLOSE


async def _spoiled(client: Stream, head: Head, body: AsyncIterator[bytes], fault: Fault) -> bool:
    if fault.action is Action.RESET:
        await client.send(head.raw)
        await _carry(_reset_after(body, fault.after_bytes), client)
        return not head.closes
    if fault.action is Action.SLOW:
        await client.send(head.raw)
        await _carry(_slowed(body, fault.delay_s), client)
        return not head.closes
    if fault.action is Action.CORRUPT:
        await client.send(head.raw)
        await _carry(_flipped(body, fault.after_bytes), client)
        return not head.closes
    if fault.action is Action.SHORTEN:
        head = _with_length(head, min(fault.after_bytes, head.length_bytes))
    await client.send(head.raw)
    left = fault.after_bytes
    async for part in body:
        if left > 0:
            await client.send(part[:left])
        left -= len(part)  # the rest is taken from the server, so that its connection stays in order
    if fault.action is Action.SHORTEN:
        return not head.closes
    client.end()
    return False


async def _reset_after(body: AsyncIterator[bytes], after_bytes: int) -> AsyncIterator[bytes]:
    left = after_bytes
    async for part in body:
        yield part[:left]
        left -= len(part)
        if left <= 0:
            await asyncio.sleep(0.05)  # what went before is on its way when the reset follows
            raise _ResetError


async def _flipped(body: AsyncIterator[bytes], after_bytes: int) -> AsyncIterator[bytes]:
    passed = 0
    async for part in body:
        at = after_bytes - passed
        if 0 <= at < len(part):
            yield part[:at] + bytes([part[at] ^ 1]) + part[at + 1 :]
        else:
            yield part
        passed += len(part)


async def _slowed(body: AsyncIterator[bytes], delay_s: float) -> AsyncIterator[bytes]:
    """In halves of its parts: a small body comes in one, which must not pass whole before the first delay."""
    async for part in body:
        half = len(part) // 2
        yield part[:half]
        await asyncio.sleep(delay_s)
        yield part[half:]


def _with_length(head: Head, length_bytes: int) -> Head:
    return _with_field(head, b"Content-Length", b"%d" % length_bytes)


def _with_field(head: Head, name: bytes, value: bytes) -> Head:
    lines = head.raw.rstrip(b"\r\n").split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith(name.lower() + b":")]
    return http_messages.parse_head(b"\r\n".join([*kept, name + b": " + value, b"", b""]))

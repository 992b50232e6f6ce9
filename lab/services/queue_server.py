"""`python -m vmtrace.lab.services.queue_server SETTINGS`: the process of the queue proxy, until SIGTERM.

It terminates TLS, passes requests of SQS's JSON protocol on to the server behind it, edits what the script is about,
and logs each message as it passes: when its send reached the proxy, and when each delivery left it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from pathlib import Path
from typing import Any

from vmtrace.lab.services import http_messages, queue_faults
from vmtrace.lab.services.accepted import AcceptedLog
from vmtrace.lab.services.fault_exchange import Stream
from vmtrace.lab.services.http_messages import Framing, Head
from vmtrace.lab.services.queue_faults import Fate, Script
from vmtrace.lab.services.serving import serve_until_ended

READY_PATH = "/-vmtrace-lab-ready"  # answered by the proxy itself, and not logged
_HEAD_LIMIT_BYTES = 1 << 20
_LOOK_S = 0.01
_THROTTLED = {"__type": "com.amazonaws.sqs#RequestThrottled", "message": "made by vmtrace lab"}


class _Proxy:
    """The process's state: settings, the script that is left, messages that are held, the log."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._script = Script(queue_faults.from_json(settings["rules"]))
        self._accepted = AcceptedLog(Path(settings["accepted"]))
        self._log = Path(settings["messages"]).open("a", buffering=1)  # noqa: SIM115 - as long as the process
        self._held: list[tuple[float, dict[str, Any]]] = []
        self._handles: dict[str, int] = {}
        self._delivered: dict[int, dict[str, Any]] = {}
        self._serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._serving.load_cert_chain(settings["chain"], settings["key"])
        self._trust: ssl.SSLContext | None = None
        if settings["server_tls"]:
            self._trust = ssl.create_default_context(cafile=settings["ca"])
            self._trust.check_hostname = False  # it connects by address

    async def serve(self) -> None:
        """Accept connections until cancelled."""
        server = await asyncio.start_server(
            self._connection,
            self._settings["address"],
            self._settings["port"],
            ssl=self._serving,
            limit=_HEAD_LIMIT_BYTES,
        )
        async with server:
            await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Stream(reader, writer)
        self._accepted.note(writer.get_extra_info("peername"))
        server: Stream | None = None
        try:
            while head := await http_messages.read_head(reader):
                if head.start[1] == READY_PATH:
                    await client.send(_response(200, b"{}"))
                    break
                body = await _whole(reader, head, http_messages.request_framing(head))
                if server is None or server.reader.at_eof():
                    server = await self._connect()
                await client.send(await self._answer(server, head, body))
                if head.closes:
                    break
        except (OSError, ValueError, KeyError, asyncio.IncompleteReadError) as error:
            print(f"connection given up: {error!r}", flush=True)
        finally:
            client.end()
            if server:
                server.end()

    async def _connect(self) -> Stream:
        address, port = self._settings["server_address"], self._settings["server_port"]
        name = address if self._trust is not None else None
        reader, writer = await asyncio.open_connection(
            address, port, ssl=self._trust, server_hostname=name, limit=_HEAD_LIMIT_BYTES
        )
        return Stream(reader, writer)

    async def _answer(self, server: Stream, head: Head, body: bytes) -> bytes:
        operation = head.fields.get("x-amz-target", "").rpartition(".")[2]
        if operation in {"SendMessage", "SendMessageBatch"}:
            return await self._send(server, head, operation, json.loads(body))
        if operation == "ReceiveMessage":
            return await self._receive(server, head, json.loads(body))
        if operation in {"DeleteMessage", "DeleteMessageBatch"}:
            return await self._delete(server, head, operation, json.loads(body))
        status, answer = await _asked(server, head, body)
        return _response(status, answer)

    async def _send(self, server: Stream, head: Head, operation: str, request: dict[str, Any]) -> bytes:
        entries = queue_faults.entries_of(operation, request)
        marks = [queue_faults.marks_of(entry["MessageBody"]) for entry in entries]
        numbers = {place: one.number for place, one in enumerate(marks) if one is not None}
        if any([self._script.applies(number, Fate.THROTTLE) for number in numbers.values()]):  # noqa: C419 - all count
            return _response(400, json.dumps(_THROTTLED).encode())
        arrived_ns = time.time_ns()
        dropped = {place for place, number in numbers.items() if self._script.applies(number, Fate.DROP)}
        late = [rule.delay_s for number in numbers.values() if (rule := self._script.applies(number, Fate.LATE_SEND))]
        await asyncio.sleep(max(late, default=0.0))
        left = queue_faults.without(operation, request, dropped)
        status, answer = 200, b"{}"
        if left is not None:
            status, answer = await _asked(server, head, json.dumps(left).encode())
        if status == 200 and dropped:
            gone = [entries[place] for place in sorted(dropped)]
            answer = json.dumps(queue_faults.acknowledged(operation, json.loads(answer), gone)).encode()
        for place, one in enumerate(marks):
            if one is not None and status == 200:
                self._note("sent", number=one.number, due_ns=one.due_ns, sent_ns=one.sent_ns, time_ns=arrived_ns,
                           dropped=place in dropped)  # fmt: skip
        return _response(status, answer)

    async def _receive(self, server: Stream, head: Head, request: dict[str, Any]) -> bytes:
        most = int(request.get("MaxNumberOfMessages", 1))
        messages = self._due(most)
        if not messages:
            ends_s = time.monotonic() + float(request.get("WaitTimeSeconds", 0))
            status, answer = await _asked(server, head, json.dumps(request).encode())
            if status != 200:
                return _response(status, answer)
            messages = [one for one in json.loads(answer).get("Messages", []) if not self._holds(one)]
            # What is held may come due while a long poll lasts that had nothing but messages to be held.
            while not messages and self._held and time.monotonic() < ends_s:
                await asyncio.sleep(_LOOK_S)
                messages = self._due(most)
        for one in messages:
            self._deliver(one)
        return _response(200, json.dumps({"Messages": messages} if messages else {}).encode())

    def _holds(self, message: dict[str, Any]) -> bool:
        marks = queue_faults.marks_of(message["Body"])
        rule = None if marks is None else self._script.applies(marks.number, Fate.HOLD)
        if rule is not None:
            self._held.append((time.monotonic() + rule.delay_s, message))
        return rule is not None

    def _due(self, most: int) -> list[dict[str, Any]]:
        now_s = time.monotonic()
        due = [message for at_s, message in self._held if at_s <= now_s][:most]
        for message in due:
            self._held = [one for one in self._held if one[1] is not message]
        return due

    def _deliver(self, message: dict[str, Any]) -> None:
        marks = queue_faults.marks_of(message["Body"])
        if marks is None:
            return
        self._note("delivered", number=marks.number, due_ns=marks.due_ns, sent_ns=marks.sent_ns, time_ns=time.time_ns())
        self._handles[message["ReceiptHandle"]] = marks.number
        self._delivered[marks.number] = message
        if self._script.applies(marks.number, Fate.REPEAT):
            self._held.append((0.0, message))

    async def _delete(self, server: Stream, head: Head, operation: str, request: dict[str, Any]) -> bytes:
        entries = queue_faults.entries_of(operation, request)
        numbers = [self._handles.get(entry["ReceiptHandle"], -1) for entry in entries]
        late = [rule.delay_s for number in numbers if (rule := self._script.applies(number, Fate.LATE_DELETE))]
        await asyncio.sleep(max(late, default=0.0))
        status, answer = await _asked(server, head, json.dumps(request).encode())
        for number in numbers:
            if status == 200 and number >= 0:
                self._note("deleted", number=number, time_ns=time.time_ns())
                if rule := self._script.applies(number, Fate.UNDELETE):
                    self._held.append((time.monotonic() + rule.delay_s, self._delivered[number]))
        return _response(status, answer)

    def _note(self, what: str, **values: Any) -> None:
        self._log.write(json.dumps({"what": what, **values}) + "\n")


async def _asked(server: Stream, head: Head, body: bytes) -> tuple[int, bytes]:
    """Pass a request on with another body: status and body of the response."""
    lines = [line for line in head.raw.rstrip(b"\r\n").split(b"\r\n") if not _is_about_length(line)]
    await server.send(b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", b""]) + body)
    while True:
        answer = await http_messages.read_head(server.reader)
        if answer is None:
            raise ConnectionResetError("the server closed the connection without a response")
        if answer.status >= 200:
            break
    framing = http_messages.answer_framing(answer, head.start[0])
    content = await _whole(server.reader, answer, framing)
    if answer.closes:
        server.end()
        server.reader.feed_eof()
    return answer.status, content


def _is_about_length(line: bytes) -> bool:
    return line.lower().startswith((b"content-length:", b"expect:", b"transfer-encoding:"))


async def _whole(reader: asyncio.StreamReader, head: Head, framing: Framing) -> bytes:
    raw = b"".join([part async for part in http_messages.read_body(reader, framing, head.length_bytes)])
    return _without_chunks(raw) if framing is Framing.CHUNKED else raw


def _without_chunks(raw: bytes) -> bytes:
    found = b""
    while raw:
        size_text, _, rest = raw.partition(b"\r\n")
        size = int(size_text.split(b";")[0], 16)
        if not size:
            break
        found, raw = found + rest[:size], rest[size + 2 :]
    return found


def _response(status: int, body: bytes) -> bytes:
    phrase = "OK" if status == 200 else "Error"
    head = f"HTTP/1.1 {status} {phrase}\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n"
    return f"{head}\r\n".encode() + body


def main() -> int:
    """`python -m vmtrace.lab.services.queue_server SETTINGS`: serve until SIGTERM."""
    return serve_until_ended(lambda settings: _Proxy(settings).serve())


if __name__ == "__main__":
    sys.exit(main())

"""One client that has the key: TLS with it, then answers to its questions, in order, until it goes, breaks a rule or
exceeds a limit.
"""

from __future__ import annotations

import platform
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Callable

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.interfaces import interface_towards
from vmtrace.capture.rights import missing_rights
from vmtrace.receiver.certificate import Certificate
from vmtrace.receiver.file_desk import FileDesk
from vmtrace.receiver.log import Log
from vmtrace.receiver.recording import CapturePlan
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.settings import ReceiverSettings
from vmtrace.receiver.storage import NoSuchRun, Storage, StoredRun
from vmtrace.receiver.transfer_desk import TransferDesk
from vmtrace.sender.wire.channel import Channel, Message
from vmtrace.sender.wire.data_connection import Stream, data_key, session_name
from vmtrace.sender.wire.endpoint import shut_down
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.fields import FieldError, from_json, to_json
from vmtrace.sender.wire.records import RunAccepted, RunRequest, Sent, TransferRequest
from vmtrace.sender.wire.secrecy import secure_receiver

_SILENCE_S = 90.0
_SECURING_S = 10.0
# What the sender is told; the receiver's own output has the paths and programs.
_NO_RIGHTS = "it has no right to capture: what it printed when it was started says how to grant it"


@dataclass(frozen=True)
class Surroundings:
    """What a receiver gives to all its sessions."""

    settings: ReceiverSettings
    log: Log
    version: str
    certificate: Certificate
    claim: Callable[[str, Session], None]
    """Makes a session the only one of a run."""


class Session:
    """`run` in a thread of its own; `take` is called by the thread that accepts connections."""

    def __init__(
        self, wrapped: ssl.SSLSocket, peer: str, host: str, session_key: bytes, surroundings: Surroundings
    ) -> None:
        self.name = session_name(session_key)
        self.data_key = data_key(session_key)
        self.peer = peer
        self.host = host
        self._wrapped = wrapped
        self._key = session_key
        self._channel = Channel(wrapped, peer)
        self._settings = surroundings.settings
        self._log = surroundings.log
        self._version = surroundings.version
        self._certificate = surroundings.certificate
        self._claim = surroundings.claim
        self._run: StoredRun | None = None
        self._transfers: TransferDesk | None = None
        self._files: FileDesk | None = None
        self._host: HostRecord | None = None
        self._until_s = time.monotonic() + self._settings.limits.session_s
        self._end: str | None = None

    @property
    def awaited(self) -> int:
        """How many data connections are to come."""
        return 0 if self._transfers is None else self._transfers.awaited

    def run(self) -> None:
        """Serve the client to the end of the connection; leaves nothing running."""
        try:
            secure_receiver(self._wrapped, self._key, _SECURING_S, self.peer)
            while True:
                self._answer(self._channel.receive(self._patience_s()))
        except WireError as error:
            reason = self._end or str(error)
            self._log.event("session_end", f"{self.peer}: session over ({reason})", peer=self.peer, reason=reason)
        except Exception as error:  # noqa: BLE001 - trouble of one session must not end the receiver, nor be a traceback
            self._log.trouble(f"{self.peer}: session ended: {type(error).__name__}: {error}")
        finally:
            self.close()

    def take(self, stream: Stream, sock: socket.socket, accept: bytes) -> bool:
        """Give a data connection to the current transfer; False if it does not expect it."""
        return self._transfers is not None and self._transfers.take(stream, sock, accept)

    def hang_up(self, reason: str) -> None:
        """End the session from another thread: `run` then ends too."""
        self._end = self._end or reason
        shut_down(self._channel.socket)
        if self._transfers is not None:
            self._transfers.interrupt(reason)

    def check_time(self, now_s: float) -> None:
        """End what takes longer than it may; from another thread."""
        if now_s > self._until_s:
            self.hang_up(f"it took longer than {self._settings.limits.session_s:g} s (--max-session-time)")
        elif self._transfers is not None:
            self._transfers.check_time(now_s)

    def close(self) -> None:
        """End all that belongs to the session."""
        try:
            if self._transfers is not None:
                self._transfers.abort()
        finally:
            try:
                trouble = self._host.stop() if self._host is not None else None
                if trouble is not None:
                    self._log.trouble(trouble)
            finally:
                self._channel.close()

    def _patience_s(self) -> float:
        """How long the client may be silent: through a transfer as long as that may take."""
        deadline_s = self._transfers.deadline_s if self._transfers is not None else None
        return _SILENCE_S if deadline_s is None else max(0.0, deadline_s - time.monotonic()) + _SILENCE_S

    def _answer(self, message: Message) -> None:
        operation = message.get("ask")
        handler = self._handlers().get(operation) if isinstance(operation, str) else None
        try:
            if handler is None:
                raise Refusal(f"this receiver (vmtrace {self._version}) does not know how to {str(operation)[:40]!r}")
            answer = handler(message)
        except Refusal as error:
            self._channel.send({"ok": False, "error": str(error)[:500], "busy": error.busy})
        except (FieldError, NoSuchRun) as error:
            self._channel.send({"ok": False, "error": str(error)[:500]})
        except (OSError, MemoryError) as error:
            self._log.trouble(f"{self.peer}: {str(error) or 'out of memory'}")
            reason = getattr(error, "strerror", None) or "out of memory or descriptors"
            self._channel.send({"ok": False, "error": f"the receiver could not do it: {reason}"})
        else:
            self._channel.send({"ok": True, **answer})
            if operation == "fetch":
                self._send_file(message)

    def _handlers(self) -> dict[str, Callable[[Message], Message]]:
        return {
            "time": lambda _: {"time_ns": time.time_ns()},
            "open": lambda message: to_json(self._open(from_json(RunRequest, message))),
            "prepare": self._prepare,
            "finish": self._finish,
            "abort": self._abort,
            "files": lambda _: to_json(self._file_desk().list()),
            "describe": lambda message: to_json(self._file_desk().describe(_whole(message, "first"))),
            "fetch": self._announce_file,
        }

    def _open(self, request: RunRequest) -> RunAccepted:
        if self._run is not None:
            raise Refusal("this session has a run already")
        storage = Storage(self._settings.folder)
        run = storage.new_run() if request.run_id is None else storage.existing_run(request.run_id)
        self._claim(run.run_id, self)
        run.repair()
        plan, refusal = self._capture_plan(request)
        interface = plan.interface if plan else None
        if self._settings.host_counters:
            self._host = begin_host_record(run, interface)
        self._run = run
        self._transfers = TransferDesk(run, plan, self._settings.limits, self._log, self.peer)
        self._files = FileDesk(run)
        self._log.event("run", f"{self.peer}: run {run.run_id}", peer=self.peer, run=run.run_id)
        return RunAccepted(
            run_id=run.run_id,
            limits=self._settings.limits,
            vmtrace=self._version,
            python=platform.python_version(),
            host=socket.gethostname(),
            capture_interface=interface,
            capture_refusal=refusal,
            tls=True,
        )

    def _capture_plan(self, request: RunRequest) -> tuple[CapturePlan | None, str | None]:
        if not request.capture:
            return None, None
        if not self._settings.capture:
            return None, "it was started with --no-capture"
        if missing_rights() is not None:
            return None, _NO_RIGHTS
        host, port = self.host, self._channel.socket.getpeername()[1]
        try:
            interface = self._settings.interface or interface_towards(host)
        except (CaptureError, OSError, ValueError) as error:
            return None, str(error)
        own_port = self._channel.socket.getsockname()[1]
        # The control connection has the same port here: what is on it is no part of a transfer.
        narrowed = f"tcp and host {host} and port {own_port} and not port {port}"
        return CapturePlan(interface, narrowed, request.capture_snaplen), None

    def _prepare(self, message: Message) -> Message:
        return to_json(self._transfer_desk().prepare(from_json(TransferRequest, message), self._certificate))

    def _finish(self, message: Message) -> Message:
        sent = None if message.get("sent") is None else from_json(Sent, message["sent"], "sent")
        far = self._transfer_desk().finish(_whole(message, "number"), sent)
        # `error` at the top level says that the question failed; here it is a part of the answer.
        return {"far_end": to_json(far)}

    def _abort(self, _message: Message) -> Message:
        self._transfer_desk().abort()
        return {}

    def _announce_file(self, message: Message) -> Message:
        self._file_desk().check(_whole(message, "number"), _whole(message, "bytes"))
        return {}

    def _send_file(self, message: Message) -> None:
        self._file_desk().send(_whole(message, "number"), _whole(message, "bytes"), self._channel)

    def _transfer_desk(self) -> TransferDesk:
        if self._transfers is None:
            raise Refusal("open a run first")
        return self._transfers

    def _file_desk(self) -> FileDesk:
        if self._files is None:
            raise Refusal("open a run first")
        return self._files


def _whole(message: Message, name: str) -> int:
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise FieldError(f"{name}: expected a whole number")
    return value


def begin_host_record(run: StoredRun, interface: str | None) -> HostRecord:
    """Facts and counters, from now on."""
    return HostRecord(run.path("facts", 0, ""), run.path("host", 0, ""), interface, metadata=True)

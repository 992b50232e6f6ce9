"""The first bytes of every connection: both sides prove that they have the key, before anything else is read.

    receiver -> sender   HELLO  (48 bytes)   version, a nonce
    sender -> receiver   AUTH  (112 bytes)   version, kind of connection, a nonce, subject, proof
    receiver -> sender   ACCEPT (40 bytes)   status, proof

All three have fixed sizes: whoever lacks the key gets no parser to feed. A proof is HMAC-SHA256 over every byte of the
connection so far, and each side has put 32 fresh random bytes there: a recorded connection cannot be played again.
The two proofs have different labels: one cannot be reflected as the other.

A control connection goes on in TLS 1.3 (`secrecy`). The receiver's proof covers the certificate that it shows there,
and so does the session's key: whoever shows another one in between is refused by both sides.
"""

from __future__ import annotations

import hmac
import secrets
import struct
from dataclasses import dataclass

from vmtrace.sender.wire.errors import KeyRefused, ReceiverBusy, ReceiverRefused, VersionMismatch, WireError
from vmtrace.sender.wire.keys import derive

VERSION = 2
CONTROL = 1
DATA = 2

_MAGIC = b"VMTRACE\0"
_ANSWER = b"VMTA"
_HELLO = struct.Struct(">8sHHI32s")
_AUTH = struct.Struct(">8sHBBI32s32s")
_ACCEPT = struct.Struct(">4sBBH32s")
_NONCE_BYTES = 32
_PROOF_BYTES = 32
SUBJECT_BYTES = 32

HELLO_BYTES = _HELLO.size
AUTH_BYTES = _AUTH.size + _PROOF_BYTES
ACCEPT_BYTES = _ACCEPT.size

ACCEPTED = 0
REFUSED_KEY = 1
REFUSED_VERSION = 2
REFUSED_BUSY = 3
REFUSED_SUBJECT = 4


@dataclass(frozen=True)
class Introduction:
    """A sender's AUTH, taken apart; nothing of it is believed before `proves` says so."""

    version: int
    kind: int
    subject: bytes
    raw: bytes

    def proves(self, key: bytes, hello: bytes) -> bool:
        """Whether the sender has `key` and answers this very HELLO."""
        return hmac.compare_digest(self.raw[-_PROOF_BYTES:], _client_proof(key, hello, self.raw[:-_PROOF_BYTES]))


def new_hello() -> bytes:
    """A receiver's HELLO."""
    return _HELLO.pack(_MAGIC, VERSION, 0, 0, secrets.token_bytes(_NONCE_BYTES))


def check_hello(hello: bytes, peer: str) -> None:
    """Raise `VersionMismatch` unless this is the HELLO of a receiver that speaks our version."""
    magic, version, _, _, _ = _HELLO.unpack(hello)
    if magic != _MAGIC:
        raise VersionMismatch(f"{peer} is not a vmtrace receiver")
    if version != VERSION:
        raise VersionMismatch(
            f"{peer} has version {version} of the protocol, this vmtrace has version {VERSION}:"
            " install the same vmtrace at both ends"
        )


def new_auth(key: bytes, hello: bytes, kind: int, subject: bytes = bytes(SUBJECT_BYTES)) -> bytes:
    """A sender's AUTH in answer to `hello`."""
    body = _AUTH.pack(_MAGIC, VERSION, kind, 0, 0, secrets.token_bytes(_NONCE_BYTES), subject)
    return body + _client_proof(key, hello, body)


def read_auth(raw: bytes) -> Introduction:
    """Take an AUTH apart; raises `ValueError` when it is not one."""
    if len(raw) != AUTH_BYTES:
        raise ValueError("not an introduction of a vmtrace sender")
    magic, version, kind, _, _, _, subject = _AUTH.unpack(raw[: _AUTH.size])
    if magic != _MAGIC:
        raise ValueError("not an introduction of a vmtrace sender")
    return Introduction(version, kind, subject, raw)


def new_accept(key: bytes, hello: bytes, auth: bytes, certificate: bytes = b"") -> bytes:
    """The receiver's ACCEPT; `certificate` is the SHA-256 of the one that a control connection's TLS will show."""
    return _ACCEPT.pack(_ANSWER, ACCEPTED, VERSION, 0, _server_proof(key, hello, auth, certificate))


def new_refusal(status: int) -> bytes:
    """The receiver's answer to a sender it does not serve; proves nothing."""
    return _ACCEPT.pack(_ANSWER, status, VERSION, 0, bytes(_PROOF_BYTES))


def check_status(accept: bytes, peer: str) -> None:
    """Raise the `WireError` that a refusal stands for; what accepts is still to be proven."""
    answer, status, version, _, _ = _ACCEPT.unpack(accept)
    if answer != _ANSWER:
        raise KeyRefused(f"{peer} does not reply as a vmtrace receiver does")
    if status != ACCEPTED:
        raise _refusal(status, version, peer)


def check_accept(key: bytes, hello: bytes, auth: bytes, accept: bytes, peer: str, certificate: bytes = b"") -> None:
    """Raise the `WireError` that the answer stands for, unless its proof holds, of this certificate."""
    check_status(accept, peer)
    if not hmac.compare_digest(accept[-_PROOF_BYTES:], _server_proof(key, hello, auth, certificate)):
        reason = ", or someone in the middle shows another certificate" if certificate else ""
        raise KeyRefused(f"{peer} does not have this key{reason}: give both ends the same key file")


def session_key(key: bytes, hello: bytes, auth: bytes, certificate: bytes) -> bytes:
    """The key of one control connection: differs for each, because both sides' nonces are in it."""
    return derive(key, b"vmtrace 2 session", hello, auth, certificate)


def _refusal(status: int, version: int, peer: str) -> WireError:
    if status == REFUSED_KEY:
        return KeyRefused(f"{peer} refused the key: give both ends the same key file")
    if status == REFUSED_VERSION:
        return VersionMismatch(
            f"{peer} has version {version} of the protocol, this vmtrace has version {VERSION}:"
            " install the same vmtrace at both ends"
        )
    if status == REFUSED_BUSY:
        return ReceiverBusy(
            f"{peer} serves as many senders as it may: try again later, or start it with a higher --max-sessions"
        )
    return ReceiverRefused(f"{peer} expects no such connection (status {status})")


def _client_proof(key: bytes, hello: bytes, body: bytes) -> bytes:
    return derive(key, b"vmtrace 2 sender", hello, body)


def _server_proof(key: bytes, hello: bytes, auth: bytes, certificate: bytes) -> bytes:
    return derive(key, b"vmtrace 2 receiver", hello, auth, certificate)

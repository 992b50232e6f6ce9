"""The shared key: how it is made, kept, read, and what is derived from it.

The receiver makes it. Both sides read it from a file or from the environment, never from the command line, where every
user of a machine can see it. Derived keys are HMAC-SHA256 of a label (RFC 2104), so none gives another away.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sys
from pathlib import Path

KEY_BYTES = 32
ENVIRONMENT = "VMTRACE_KEY"
_HEXADECIMAL = re.compile(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}")


def new_key_text() -> str:
    """A fresh key as it stands in a key file: 64 hexadecimal digits."""
    return secrets.token_hex(KEY_BYTES)


def key_from_text(text: str, source: str) -> bytes:
    """The key that a file's text or an environment variable holds: 64 hexadecimal digits, as the receiver makes them.

    Raises `ValueError` with one line that names `source` (and shows nothing of the text). A key that a person has
    thought of could be guessed from one recorded connection, without asking anybody.
    """
    stripped = text.strip()
    if not _HEXADECIMAL.fullmatch(stripped):
        digits = f"{2 * KEY_BYTES} hexadecimal digits"
        raise ValueError(f"{source}: not a key: it has {digits} (vmtrace receive --key-file FILE makes one)")
    return bytes.fromhex(stripped)


def load_key(path: str | None) -> bytes:
    """The key in a file, or in the environment variable VMTRACE_KEY when `path` is None.

    Raises `OSError` when the file cannot be read and `ValueError` when there is no key in it.
    """
    if path is not None:
        _warn_if_others_can_read(Path(path))
        with Path(path).open("rb") as file:
            return key_from_text(file.read(4096).decode("utf-8", "surrogateescape"), path)
    if ENVIRONMENT not in os.environ:
        raise ValueError(f"no key: give --key-file FILE, or set {ENVIRONMENT}")
    return key_from_text(os.environ[ENVIRONMENT], ENVIRONMENT)


def write_new_key(path: Path) -> None:
    """Make a key file (mode 0600) that must not exist yet."""
    text = new_key_text()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from error


def derive(key: bytes, label: bytes, *context: bytes) -> bytes:
    """A key for one purpose; each part of the context is preceded by its length, so that no two contexts look alike."""
    message = b"".join(len(part).to_bytes(4, "big") + part for part in (label, *context))
    return hmac.new(key, message, hashlib.sha256).digest()


def _warn_if_others_can_read(path: Path) -> None:
    if path.is_file() and path.stat().st_mode & 0o077:
        print(f"vmtrace: warning: {path}: others may read this key: chmod 600 {path}", file=sys.stderr)

"""The receiver's own certificate: made by openssl, known to senders by its digest alone.

Control connections show it in TLS 1.3, transfers with TLS in 1.2 or later.
"""

from __future__ import annotations

import hashlib
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from vmtrace.formats.durable import make_folder, write_aside

_OPENSSL_S = 30
_DAYS = "3650"


@dataclass(frozen=True)
class Certificate:
    """What TLS needs at the receiver."""

    control: ssl.SSLContext
    transfers: ssl.SSLContext
    sha256: str

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the certificate, 32 bytes."""
        return bytes.fromhex(self.sha256)


class NoCertificate(ValueError):  # noqa: N818 - a state that the user is told, not a defect
    """There is no certificate to show; the message says why."""


def own_certificate(folder: Path) -> Certificate:
    """The certificate kept in `folder`, made if there is none. Raises `NoCertificate`."""
    path = folder / "certificate.pem"
    if not path.exists():
        make_folder(folder)
        _make(path)
    return load_certificate(path)


def load_certificate(path: Path) -> Certificate:
    """A certificate and its key from one PEM file. Raises `NoCertificate`."""
    try:
        control = _context(path, ssl.TLSVersion.TLSv1_3)
        transfers = _context(path, ssl.TLSVersion.TLSv1_2)
        first = path.read_text().split("-----BEGIN CERTIFICATE-----")[1].split("-----END CERTIFICATE-----")[0]
        content = ssl.PEM_cert_to_DER_cert(f"-----BEGIN CERTIFICATE-----{first}-----END CERTIFICATE-----")
    except (OSError, ValueError, IndexError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise NoCertificate(f"{path}: no certificate with its key, without password, in PEM form ({reason})") from error
    control.num_tickets = 0  # nothing is resumed, and a ticket would come in the middle of a question
    return Certificate(control, transfers, hashlib.sha256(content).hexdigest())


def _context(path: Path, least: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = least
    context.load_cert_chain(path, password=_no_password)
    return context


def _no_password() -> str:
    """Else OpenSSL would ask on the terminal, and the receiver wait for that."""
    return ""


def _make(path: Path) -> None:
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-days", _DAYS, "-subj", "/CN=vmtrace receiver", "-keyout", "-", "-out", "-"]
    try:
        done = subprocess.run(words, capture_output=True, timeout=_OPENSSL_S, check=False)
    except FileNotFoundError as error:
        raise NoCertificate("the receiver needs the program openssl, or --certificate FILE") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCertificate(f"openssl did not make a certificate ({error})") from error
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise NoCertificate(f"openssl did not make a certificate: {said[-200:]}")
    write_aside(path, done.stdout)

import hashlib
import os
import pty
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from vmtrace.receiver.certificate import NoCertificate, load_certificate, own_certificate


def test_a_certificate_is_made_once_and_its_owners_alone(tmp_path: Path) -> None:
    made = own_certificate(tmp_path / "tls")
    assert own_certificate(tmp_path / "tls").sha256 == made.sha256
    path = tmp_path / "tls" / "certificate.pem"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    shown = subprocess.run(
        ["openssl", "x509", "-outform", "DER"], input=path.read_bytes(), capture_output=True, check=True
    )
    assert hashlib.sha256(shown.stdout).hexdigest() == made.sha256
    assert made.transfers.minimum_version == ssl.TLSVersion.TLSv1_2
    assert made.control.minimum_version == ssl.TLSVersion.TLSv1_3
    assert made.digest.hex() == made.sha256
    assert made.control.num_tickets == 0


def test_without_openssl_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCertificate, match="the receiver needs the program openssl, or --certificate FILE"):
        own_certificate(tmp_path / "tls")
    assert list((tmp_path / "tls").iterdir()) == []


def test_an_openssl_that_fails_is_quoted_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "openssl"
    program.write_text("#!/bin/sh\necho 'no\nentropy' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(NoCertificate, match="openssl did not make a certificate: no entropy"):
        own_certificate(tmp_path / "tls")


@pytest.mark.parametrize(
    "content", [b"", b"x", b"\xff" * 100, b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_file_that_is_no_certificate_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "c.pem"
    path.write_bytes(content)
    with pytest.raises(NoCertificate, match=r"c\.pem: no certificate with its key"):
        load_certificate(path)
    with pytest.raises(NoCertificate, match="No such file"):
        load_certificate(tmp_path / "absent")


def on_a_terminal(code: str) -> str:
    """What a program says that could ask its user."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY); {code}"],
            stdin=theirs,
            capture_output=True,
            start_new_session=True,
            text=True,
            timeout=10,
            check=False,
            cwd=Path(__file__).parents[2],
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return done.stderr


def test_a_key_with_a_password_is_refused_instead_of_asked_for(tmp_path: Path) -> None:
    own_certificate(tmp_path)
    whole = (tmp_path / "certificate.pem").read_bytes()
    locked = subprocess.run(
        ["openssl", "pkey", "-aes128", "-passout", "pass:secret"], input=whole, capture_output=True, check=True
    ).stdout
    path = tmp_path / "locked.pem"
    path.write_bytes(locked + whole[whole.index(b"-----BEGIN CERTIFICATE") :])
    done = on_a_terminal(
        "from pathlib import Path; from vmtrace.receiver.certificate import load_certificate;"
        f"load_certificate(Path({str(path)!r}))"
    )
    assert "NoCertificate" in done
    assert "without password" in done

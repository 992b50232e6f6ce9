"""Whether an address speaks TLS for a name: the certificate it shows, its names, and whether it is trusted.

Two handshakes at most: one that verifies, and where that fails one that does not, to read what was shown.
"""

import ipaddress
import select
import socket
import ssl
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.discovery.side_by_side import side_by_side

WAIT_S = 3.0
_AT_ONCE = 32
_MOST_NAMES = 100
_LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Shown:
    """What an address shows when asked for a name."""

    name: str
    address: str
    port: int
    speaks_tls: bool
    trusted: bool
    """By the authorities of this host (or of --ca-bundle), and for this name."""
    certificate_names: tuple[str, ...]
    error: str | None

    @property
    def covers_name(self) -> bool:
        """The certificate has the name, whoever signed it."""
        return any(matches(pattern, self.name) for pattern in self.certificate_names)

    def as_record(self) -> dict[str, Any]:
        """For a line of `certificates.jsonl`."""
        return asdict(self)


class ShownCertificates:
    """All that were shown, by name and address."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], Shown] = {}
        self._by_name: dict[str, list[Shown]] = {}

    def add(self, one: Shown) -> None:
        """The first of a name and address counts."""
        if (one.name, one.address) not in self._shown:
            self._shown[one.name, one.address] = one
            self._by_name.setdefault(one.name, []).append(one)

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._shown

    def __len__(self) -> int:
        return len(self._shown)

    @property
    def trusted(self) -> int:
        """How many are."""
        return sum(one.trusted for one in self._shown.values())

    def speaks(self, pair: tuple[str, str]) -> bool:
        """Trusted; where no certificate for the name is (the service has an authority of its own), its names decide."""
        one = self._shown.get(pair)
        if one is None:
            return False
        return one.trusted or (one.covers_name and not any(other.trusted for other in self._by_name[one.name]))

    def believed(self, suspected: Collection[tuple[str, str]], name: str) -> bool:
        """Whether an address of the name that nobody suspects speaks TLS for it."""
        found = ((one.name, one.address) for one in self._by_name.get(name, ()))
        return any(pair not in suspected and self.speaks(pair) for pair in found)


def shown_by(pairs: Sequence[tuple[str, str]], port: int, ca_bundle: Path | None) -> list[Shown]:
    """Ask all addresses, each for its name."""
    return list(side_by_side(lambda pair: shown(pair[0], pair[1], port, ca_bundle), pairs, _AT_ONCE))


def shown(name: str, address: str, port: int, ca_bundle: Path | None = None) -> Shown:
    """Ask one; nothing that it sends raises."""
    trusting = ssl.create_default_context(cafile=None if ca_bundle is None else str(ca_bundle))
    try:
        return Shown(name, address, port, True, True, _names(_certificate(name, address, port, trusting)), None)
    except ssl.SSLCertVerificationError as error:
        refused = error.verify_message
    except (OSError, ValueError) as error:
        return Shown(name, address, port, False, False, (), _one_line(error))
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname, anything.verify_mode = False, ssl.CERT_NONE
    try:
        names = _names(_certificate(name, address, port, anything))
    except (OSError, ValueError) as error:
        return Shown(name, address, port, False, False, (), _one_line(error))
    return Shown(name, address, port, True, False, names, refused)


def matches(pattern: str, name: str) -> bool:
    """Whether a name of a certificate is for a host name (RFC 6125: a wildcard is one whole label, the first)."""
    first, _, rest = pattern.lower().partition(".")
    own_first, _, own_rest = name.lower().partition(".")
    return bool(own_first) and rest == own_rest and first in ("*", own_first)


def _certificate(name: str, address: str, port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection((address, port), WAIT_S) as raw,
        context.wrap_socket(raw, server_hostname=name, do_handshake_on_connect=False) as secured,
    ):
        _shake_hands(secured, time.monotonic() + WAIT_S)
        return secured.getpeercert(binary_form=True) or b""


def _shake_hands(secured: ssl.SSLSocket, ends_s: float) -> None:
    """Raises `TimeoutError` where it takes longer, however many bytes come meanwhile."""
    secured.setblocking(False)
    while True:
        reads: list[ssl.SSLSocket] = []
        writes: list[ssl.SSLSocket] = []
        try:
            secured.do_handshake()
        except ssl.SSLWantReadError:
            reads.append(secured)
        except ssl.SSLWantWriteError:
            writes.append(secured)
        else:
            return
        if not any(select.select(reads, writes, [], max(0.0, ends_s - time.monotonic()))):
            raise TimeoutError("timed out")


def _names(certificate: bytes) -> tuple[str, ...]:
    from cryptography import x509

    try:
        parsed = x509.load_der_x509_certificate(certificate)
        found = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [str(one) for one in found.get_values_for_type(x509.DNSName)]
        names += [str(ipaddress.ip_address(str(one))) for one in found.get_values_for_type(x509.IPAddress)]
    except (ValueError, x509.ExtensionNotFound, x509.DuplicateExtension):
        return ()
    return tuple(one[:_LONGEST_NAME] for one in names[:_MOST_NAMES] if one.isprintable())


def _one_line(error: Exception) -> str:
    said = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error) or type(error).__name__
    return " ".join(str(said).split())[:200]

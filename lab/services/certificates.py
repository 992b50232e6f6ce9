"""Certificate chains as the clouds send them: a root that clients trust, an intermediate, and the server's own.

TLS handshake bytes follow the chain: about 2.5 kB are read with RSA keys, 1.5 kB with ECDSA keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LOCAL_NAMES = ("localhost", "*.localhost", "127.0.0.1", "::1")


class KeyKind(StrEnum):
    """What the keys of a chain are."""

    RSA = "rsa"
    ECDSA = "ecdsa"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files of one chain: `ca_path` for clients, `chain_path` (server and intermediate) and `key_path` for servers."""

    ca_path: Path
    chain_path: Path
    key_path: Path


def make(folder: Path, kind: KeyKind = KeyKind.RSA, names: Sequence[str] = ()) -> Certificates:
    """Write a new chain for loopback and for `names` (host names, wildcards, addresses) into `folder`."""
    import trustme

    key_type = {KeyKind.RSA: trustme.KeyType.RSA, KeyKind.ECDSA: trustme.KeyType.ECDSA}[kind]
    root = trustme.CA(organization_name="vmtrace lab root", key_type=key_type)
    intermediate = root.create_child_ca(key_type=key_type)
    leaf = intermediate.issue_cert(*LOCAL_NAMES, *names, key_type=key_type)
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    root.cert_pem.write_to_path(made.ca_path)
    made.chain_path.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(made.key_path)
    made.key_path.chmod(0o600)
    return made

"""Azurite: Microsoft's own emulator of Azure Blob and Queue storage, a Node.js program for each.

`make setup` installs it into `build/azurite` where node and npm are; VMTRACE_AZURITE names another folder that holds
`node_modules/azurite`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmtrace.lab.services import accepted, process, site
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import LOOPBACK, Place, Service

# The account that every Azurite has, with its published key.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
FOLDER_VARIABLE = "VMTRACE_AZURITE"
_INSTALLED = Path(__file__).resolve().parents[2] / "build" / "azurite"


def missing_requirement() -> str | None:
    """What keeps Azurite from running here, in one line, or None."""
    if shutil.which("node") is None:
        return "Azurite needs Node.js: install it (Debian: nodejs npm), then make setup"
    if not _program("blob").exists():
        return f"Azurite is not installed in {_folder()}: npm install --prefix {_folder()} azurite, or make setup"
    return None


@contextmanager
def started(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty Blob storage; raises `process.ServiceError` when it is missing or does not come up."""
    with _started("blob", certificates, place) as service:
        yield service


@contextmanager
def started_queue(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty Queue storage; raises `process.ServiceError` when it is missing or does not come up."""
    with _started("queue", certificates, place) as service:
        yield service


@contextmanager
def _started(kind: str, certificates: Certificates, place: Place) -> Iterator[Service]:
    reason = missing_requirement()
    if reason:
        raise process.ServiceError(reason)
    with site.prepared("azurite", certificates, place) as here:
        preload = here.folder / "accepted.cjs"
        preload.write_text(accepted.NODE_PRELOAD)
        words = ["node", "--require", str(preload), str(_program(kind))]
        words += [
            f"--{kind}Host",
            place.address,
            f"--{kind}Port",
            str(here.port),
            "--location",
            str(here.folder / "data"),
        ]
        words += ["--cert", str(certificates.chain_path), "--key", str(certificates.key_path)]
        # Without skipApiVersionCheck an SDK newer than Azurite is refused.
        words += ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        url = _account_url(here)
        program = site.Program(
            name="azurite",
            words=words,
            ready_path="/",
            endpoint_url=url,
            environment=environment(url, certificates.ca_path, kind),
            tls_terminated_by=_terminator(),
        )
        with here.serving(program) as service:
            yield service


def environment(url: str, ca_path: Path, kind: str = "blob") -> dict[str, str]:
    """What the SDKs of Azure storage and the Azure CLI read; `url` is the account's endpoint for this kind."""
    endpoint = f"{kind.capitalize()}Endpoint"
    parts = {"DefaultEndpointsProtocol": "https", "AccountName": ACCOUNT, "AccountKey": KEY, endpoint: url}
    return {
        "AZURE_STORAGE_ACCOUNT": ACCOUNT,
        "AZURE_STORAGE_KEY": KEY,
        "AZURE_STORAGE_CONNECTION_STRING": ";".join(f"{name}={value}" for name, value in parts.items()),
        "REQUESTS_CA_BUNDLE": str(ca_path),
    }


def _account_url(here: site.Site) -> str:
    """The account by its host name, as Azure has it, where the place has such a name; else by the path."""
    by_name = (here.place.host_name or "").startswith(f"{ACCOUNT}.")
    return here.url if by_name else f"{here.url}/{ACCOUNT}"


def _folder() -> Path:
    return Path(os.environ.get(FOLDER_VARIABLE) or _INSTALLED)


def _program(kind: str) -> Path:
    return _folder() / "node_modules" / "azurite" / "dist" / "src" / kind / "main.js"


def _terminator() -> str:
    shown = subprocess.run(
        ["node", "-p", "JSON.stringify(process.versions)"], capture_output=True, text=True, check=True
    )
    versions = json.loads(shown.stdout)
    return f"Node.js {versions['node']} (OpenSSL {versions['openssl']})"

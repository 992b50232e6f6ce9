"""Azurite: Microsoft's own emulator of Azure Blob storage, a Node.js program.

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

from lab.services import accepted, process, site
from lab.services.certificates import Certificates
from lab.services.service import LOOPBACK, Place, Service

# The account that every Azurite has, with its published key.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
FOLDER_VARIABLE = "VMTRACE_AZURITE"
_INSTALLED = Path(__file__).resolve().parents[2] / "build" / "azurite"


def missing_requirement() -> str | None:
    """What keeps Azurite from running here, in one line, or None."""
    if shutil.which("node") is None:
        return "Azurite needs Node.js: install it (Debian: nodejs npm), then make setup"
    if not _program().exists():
        return f"Azurite is not installed in {_folder()}: npm install --prefix {_folder()} azurite, or make setup"
    return None


@contextmanager
def started(certificates: Certificates, place: Place = LOOPBACK) -> Iterator[Service]:
    """An empty Azurite; raises `process.ServiceError` when it is missing or does not come up."""
    reason = missing_requirement()
    if reason:
        raise process.ServiceError(reason)
    with site.prepared("azurite", certificates, place) as here:
        preload = here.folder / "accepted.cjs"
        preload.write_text(accepted.NODE_PRELOAD)
        words = ["node", "--require", str(preload), str(_program())]
        words += ["--blobHost", place.address, "--blobPort", str(here.port), "--location", str(here.folder / "data")]
        words += ["--cert", str(certificates.chain_path), "--key", str(certificates.key_path)]
        # Without skipApiVersionCheck an SDK newer than Azurite is refused.
        words += ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        url = _account_url(here)
        program = site.Program(
            name="azurite",
            words=words,
            ready_path="/",
            endpoint_url=url,
            environment=environment(url, certificates.ca_path),
            tls_terminated_by=_terminator(),
        )
        with here.serving(program) as service:
            yield service


def environment(url: str, ca_path: Path) -> dict[str, str]:
    """What azure-storage-blob and the Azure CLI read; `url` is the account's blob endpoint."""
    parts = {"DefaultEndpointsProtocol": "https", "AccountName": ACCOUNT, "AccountKey": KEY, "BlobEndpoint": url}
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


def _program() -> Path:
    return _folder() / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"


def _terminator() -> str:
    told = subprocess.run(
        ["node", "-p", "JSON.stringify(process.versions)"], capture_output=True, text=True, check=True
    )
    versions = json.loads(told.stdout)
    return f"Node.js {versions['node']} (OpenSSL {versions['openssl']})"

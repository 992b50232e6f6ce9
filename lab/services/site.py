"""Where one stand-in runs: a port and a temporary folder of its own, in which its logs are. All starters begin here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vmtrace.lab.services import accepted, process
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import Place, Service


@dataclass(frozen=True, slots=True)
class Program:
    """A server to be run: what its starter says of it."""

    name: str
    words: Sequence[str]
    ready_path: str  # what is asked for, to see whether it answers
    endpoint_url: str
    environment: Mapping[str, str]  # for its clients
    tls_terminated_by: str
    variables: Mapping[str, str] = field(default_factory=dict)  # for itself, besides that of the accepted log


@dataclass(frozen=True, slots=True)
class Site:
    """Where it is run."""

    folder: Path
    place: Place
    port: int
    certificates: Certificates

    @property
    def url(self) -> str:
        """The server's, without a path."""
        return self.place.url(self.port)

    @property
    def accepted_path(self) -> Path:
        """The server's own log of connections (`accepted`)."""
        return self.folder / "accepted.log"

    @contextmanager
    def serving(self, program: Program) -> Iterator[Service]:
        """Run the server while the block lasts; raises `process.ServiceError` when it does not come up."""
        log_path, ca_path = self.folder / "server.log", self.certificates.ca_path
        variables = {accepted.VARIABLE: str(self.accepted_path), **program.variables}
        ready = process.answers_http(self.place, self.port, ca_path, program.ready_path)
        command = process.Command(program.name, program.words, variables, log_path, ready)
        with process.serving(command, self.place.namespace) as running:
            yield Service(
                name=program.name,
                endpoint_url=program.endpoint_url,
                address=self.place.address,
                port=self.port,
                ca_path=ca_path,
                environment=program.environment,
                tls_terminated_by=program.tls_terminated_by,
                log_path=log_path,
                accepted_path=self.accepted_path,
                accepted_before_ready=len(accepted.read(self.accepted_path)),
                process_id=running.pid,
            )


@contextmanager
def prepared(name: str, certificates: Certificates, place: Place) -> Iterator[Site]:
    """A site at a place; its folder is gone afterwards, whatever its server left in it."""
    with tempfile.TemporaryDirectory(prefix=f"vmtrace-{name}-", ignore_cleanup_errors=True) as folder:
        port = place.port or process.free_ports(place.address, 1, place.namespace)[0]
        yield Site(Path(folder), place, port, certificates)

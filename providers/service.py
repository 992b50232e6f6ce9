"""What every storage service can do for a benchmark, and what it is told. One file of `services/` each; see `registry`.

Names of objects are the run's; a *reference* is what the service knows an object by: its name, or an id that it chose.
Methods raise what their SDK raises; its module's `error_of` says what that means.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Target:
    """Which service, where, and what the user chose. Credentials are the SDK's own business."""

    provider: str
    container: str
    endpoint_url: str | None = None
    region: str | None = None
    ca_bundle: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sdk:
    """What speaks to the service, and those of its settings that change what is on the wire."""

    name: str
    version: str
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to be uploaded; digests are hexadecimal."""

    path: Path
    size_bytes: int
    sha256: str
    md5: str
    part_md5s: tuple[str, ...]
    """Of each part, where the service asked for parts of a size."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An upload that the service took."""

    reference: str
    service_digest: str | None = None
    digest_ok: bool | None = None
    """Whether the service's digest is that of the file; None where it says nothing of the content."""


class Sink(Protocol):
    """Where a download goes."""

    def write(self, data: bytes, /) -> int:
        """Take the next bytes."""


class Service(Protocol):
    """One client of a service: connections of its own, from its making to `close`."""

    sdk: Sdk
    archives: bool
    """Whether objects must be brought back before they can be read."""
    lists_at_once: bool
    """Whether `own_objects` is quick, complete and goes by our names."""
    part_bytes: int | None
    """The digest of an object larger than this is one of digests of its parts; None if never."""

    @property
    def endpoint(self) -> str:
        """URL that is talked to; may be known only after `login`."""

    @property
    def region(self) -> str | None:
        """As told, or as the SDK found it."""

    def login(self) -> None:
        """The first authenticated request; it also finds out whether the container is there."""

    def create_container(self) -> None:
        """Make the container; one that is there already is a name clash."""

    def remove_container(self) -> None:
        """Remove the container; one that is gone already is fine."""

    def upload(self, name: str, file: LocalFile) -> Stored:
        """Put a file."""

    def request_restore(self, reference: str) -> None:
        """Ask for an archived object to be brought back; only called where the service `archives`."""

    def is_restored(self, reference: str) -> bool:
        """Whether it can be downloaded."""

    def download(self, reference: str, sink: Sink) -> int:
        """Get an object whole; returns how often its body broke off and was asked for from there on."""

    def delete(self, references: Sequence[str]) -> None:
        """Remove objects; those that are gone already are fine."""

    def own_objects(self, prefix: str) -> Iterator[str]:
        """References of the objects whose name begins with `prefix`."""

    def abandon_uploads(self, prefix: str) -> None:
        """Remove what unfinished uploads left behind, where a service keeps (and charges for) such."""

    def close(self) -> None:
        """Close the connections."""

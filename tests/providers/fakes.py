"""A service in memory, without HTTP, that fails as it is told to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.service import LocalFile, Sdk, Sink, Stored

Fault = Callable[[], None]


@dataclass
class Memory:
    """What is at the service, and what goes wrong: by the name of the method, or of the object."""

    containers: dict[str, dict[str, bytes]] = field(default_factory=dict)
    faults: dict[str, Exception | type[BaseException]] = field(default_factory=dict)
    corrupt: set[str] = field(default_factory=set)
    wrong_digest: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def fail(self, *keys: str) -> None:
        """Raise what is meant for one of these."""
        for key in keys:
            for shown, fault in self.faults.items():
                if key.endswith(shown):
                    raise fault


class FakeService:
    """One client."""

    sdk = Sdk("fake", "1.0", {})
    part_bytes: int | None = None
    archives = False
    lists_at_once = True
    endpoint = "http://127.0.0.1:9"
    region: str | None = None

    def __init__(self, memory: Memory, container: str) -> None:
        self._memory, self._container = memory, container

    @property
    def _objects(self) -> dict[str, bytes]:
        if self._container not in self._memory.containers:
            raise ServiceError(ErrorKind.NO_SUCH_CONTAINER, self._container)
        return self._memory.containers[self._container]

    def login(self) -> None:
        self._call("login")
        assert self._objects is not None

    def create_container(self) -> None:
        self._call("create_container")
        if self._container in self._memory.containers:
            raise ServiceError(ErrorKind.NAME_CLASH, self._container)
        self._memory.containers[self._container] = {}

    def remove_container(self) -> None:
        self._call("remove_container")
        if self._memory.containers.get(self._container):
            raise ServiceError(ErrorKind.CONTAINER_NOT_EMPTY, self._container)
        self._memory.containers.pop(self._container, None)

    def upload(self, name: str, file: LocalFile) -> Stored:
        self._call("upload", f"up:{name}")
        self._objects[name] = file.path.read_bytes()
        good = not any(name.endswith(end) for end in self._memory.wrong_digest)
        return Stored(name, file.md5 if good else "0" * 32, good)

    def request_restore(self, reference: str) -> None:
        self._call("request_restore", reference)

    def is_restored(self, reference: str) -> bool:
        return bool(reference)

    def download(self, reference: str, sink: Sink) -> int:
        self._call("download", f"down:{reference}")
        content = self._objects[reference]
        if any(reference.endswith(end) for end in self._memory.corrupt):
            content = content[:-1]
        sink.write(content)
        return 0

    def delete(self, references: Sequence[str]) -> None:
        self._call("delete")
        for reference in references:
            self._objects.pop(reference, None)

    def own_objects(self, prefix: str) -> Iterator[str]:
        yield from [name for name in self._objects if name.startswith(prefix)]

    def abandon_uploads(self, prefix: str) -> None:
        self._call("abandon_uploads", prefix)

    def close(self) -> None:
        self._memory.calls.append("close")

    def _call(self, *keys: str) -> None:
        self._memory.calls.append(keys[0])
        self._memory.fail(*keys)


def meant(error: Exception) -> ServiceError:
    """`error_of` of the fake: what it raises says it itself."""
    return error if isinstance(error, ServiceError) else ServiceError(ErrorKind.OTHER, str(error))


def module(memory: Memory) -> Mapping[str, object]:
    """What a module of `services/` has."""
    return {
        "EXTRA": "fake",
        "OPTIONS": {},
        "build": lambda target: FakeService(memory, target.container),
        "error_of": meant,
    }

"""A sink for SDKs that begin a broken download again from its first byte and write all of it again."""

from vmtrace.providers.service import Sink


class FromStart:
    """Passes each byte of an object on once, in order, however often the object is begun."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._passed = 0
        self._position = 0

    def begin(self) -> None:
        """The next bytes are the object's first."""
        self._position = 0

    def write(self, data: bytes) -> int:
        """Take the next bytes; those that went on before are dropped."""
        known = max(0, self._passed - self._position)
        self._position += len(data)
        if len(data) > known:
            self._sink.write(data[known:])
            self._passed = self._position
        return len(data)

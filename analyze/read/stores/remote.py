"""An object of a store as an input of the engine. Imports nothing heavy: every input is asked whether it is one."""

from typing import TYPE_CHECKING

from vmtrace.analyze.read.stores import Place, parsed

if TYPE_CHECKING:
    from vmtrace.analyze.read.stores.listing import ObjectUrl
    from vmtrace.analyze.read.stores.reader import ObjectReader


class RemoteObject:
    """What the engine opens, as often as it wants; nothing is asked of the store before."""

    __slots__ = ("url",)

    def __init__(self, url: "ObjectUrl") -> None:
        self.url = url

    @property
    def place(self) -> Place:
        """Where it lies."""
        return parsed(self.url)

    def open(self) -> "ObjectReader":
        """A reader from the beginning, whose first range is on its way."""
        from vmtrace.analyze.read.stores.reader import ObjectReader

        return ObjectReader(self.url)

    def open_ranges(self, ranges: list[tuple[int, int]]) -> "ObjectReader":
        """A reader of these parts (offset, length), one behind the other."""
        from vmtrace.analyze.read.stores.reader import ObjectReader

        return ObjectReader(self.url, ranges)

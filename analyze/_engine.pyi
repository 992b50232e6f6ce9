# The engine's Python face (Rust, `analyze/engine/binding`, where each name is described).

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address
from os import PathLike
from typing import Any, Protocol, TypeAlias, final

from typing_extensions import Buffer

__all__ = [
    "VERSION",
    "Analysis",
    "Columns",
    "FirstFrames",
    "Live",
    "TraceError",
    "analyze",
    "analyze_slices",
    "analyze_stretches",
    "beyond",
    "factor_labels",
    "factors",
    "fields",
    "holds_secrets",
    "merge_buckets",
    "shared_frames",
    "split",
]

class _Reader(Protocol):
    # The next bytes, none at the end.
    def read(self) -> Buffer: ...

class _Feed(Protocol):
    # From the beginning, each time.
    def open(self) -> _Reader: ...
    # Parts of it (offset, length), one behind the other.
    def open_ranges(self, ranges: list[tuple[int, int]], /) -> _Reader: ...

_Input: TypeAlias = str | PathLike[str] | bytes | _Feed

# The engine's version, which is vmtrace's.
VERSION: str

class TraceError(Exception):
    # "not_a_capture", "decompression" or "filter"
    kind: str
    # Position of the input among those given, and its name; None if it is not about one input.
    input: int | None
    path: str | None
    # What is wrong, and what to do.
    reason: str
    # What is wrong with the other inputs, where none could be read; an OSError has this attribute, too.
    others: list[Exception]

@final
class Columns:
    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    # The names of the columns that hold texts.
    @property
    def texts(self) -> list[str]: ...
    # All values of a column; None where there is no value. KeyError if there is no such column.
    def values(self, name: str) -> list[Any]: ...
    # IndexError if there is no such row.
    def row(self, index: int) -> dict[str, Any]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Analysis:
    @property
    def interrupted(self) -> bool: ...
    # That was for want of memory.
    @property
    def exhausted(self) -> bool: ...
    # Attempts of SYNs without a reply that are summed up.
    @property
    def unanswered(self) -> int: ...
    # What was wrong with inputs that could not be read.
    @property
    def errors(self) -> list[Exception]: ...
    # Leaves the results in memory for good: for a program that ends with them.
    def keep_until_exit(self) -> None: ...
    def write_json(
        self,
        write: Callable[[bytes], object],
        *,
        vmtrace_version: str,
        input_paths: Sequence[str],
        only_connections: Sequence[int] | None = None,
        with_intervals: bool | None = None,
    ) -> None: ...
    # For each connection the number of its first packet among all packets: little-endian numbers of 64 bits.
    def orders(self) -> bytes: ...
    # Input and time, as connections see them.
    @property
    def clock_steps(self) -> list[tuple[int, int]]: ...
    # Hosts that were recorded late: input, address, nanoseconds.
    @property
    def lags(self) -> list[tuple[int, bytes, int]]: ...
    # Of a part of all connections, for each ICMP error: whether a connection has the addresses that it quotes, and if
    # none has, how many fit it by their server, and how many by the receiver of the error.
    @property
    def icmp_fates(self) -> list[tuple[bool, int, int]]: ...
    # For each of these connections the number of its input and the hash of its flow.
    def flows(self, connections: Sequence[int]) -> list[tuple[int, int]]: ...
    # Only the rows (in the order given) and columns asked for, if any are.
    def connections(self, *, names: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> Columns: ...
    # Of a part of all connections, for `merge_buckets`: what limits that they share follow from, and the servers asked.
    def packed(self) -> tuple[bytes, bytes]: ...
    # Likewise for `beyond`: what others have to know of them.
    def outlines(self) -> bytes: ...
    # By number of the connection, the index of its lookup in the document.
    def lookups_of_connections(self) -> dict[int, int]: ...
    # Secrets that the inputs hold, as a key log.
    @property
    def key_log(self) -> bytes: ...
    def __len__(self) -> int: ...
    # Rows of the connections with the most bytes on the wire, the largest first.
    def largest(self, most: int) -> list[int]: ...
    # Of the packets of `detail_connections` those of some, of these the ones at places from the first on and before the
    # second, and some columns, if they are asked for.
    def packets(
        self,
        *,
        connections: Sequence[int] | None = None,
        places: tuple[int, int] | None = None,
        names: Sequence[str] | None = None,
    ) -> Columns: ...
    # One row for each address answered to a name lookup (DNS) in the capture, in the order of the answers.
    def lookups(self) -> Columns: ...
    # Answers beyond those kept.
    @property
    def lookups_not_kept(self) -> int: ...
    # One row for each ICMP echo request in the capture, in their order.
    def echoes(self) -> Columns: ...
    # Requests beyond those kept.
    @property
    def echoes_not_kept(self) -> int: ...
    def syns(self) -> Columns: ...
    # Datagrams one by one, if asked for: times, digests, flows, whether the client sent them; bytes of payload that the
    # shortest capture holds; how many are not kept.
    def datagrams(self) -> tuple[list[bytes], int | None, int] | None: ...
    # Opened packets of QUIC by flow, likewise: times, numbers, spaces, whether the server sent them.
    def quic_packets(self) -> list[tuple[int, list[bytes]]]: ...

# Each group is one capture; an input may be given with what errors call it. Raises OSError (its subclasses) and
# TraceError; `progress` gets the bytes consumed so far; `interrupted` says that the inputs are parts already.
def analyze(
    groups: Sequence[Sequence[_Input | tuple[_Input, str]]],
    *,
    threads: int = 1,
    oversize_abs_ns: int | None = None,
    allowed_bps: float | None = None,
    detail_connections: Sequence[int] = ...,
    measured_before: Analysis | None = None,
    compile_filter: Callable[[int, int], bytes] | None = None,
    key_log: bytes | None = None,
    datagrams_known_by_bytes: int | None = None,
    memory_bytes: int | None = None,
    progress: Callable[[int], object] | None = None,
    interrupted: bool = False,
) -> Analysis: ...

# A text in the format of key logs holds a secret of a kind that is used.
def holds_secrets(text: bytes) -> bool: ...

# Of the beginnings of two captures, the share of frames that both hold.
def shared_frames(first: _Input, second: _Input) -> float | None: ...

# The first frames of one capture, to be compared with those of others.
@final
class FirstFrames:
    def __new__(cls, capture: _Input) -> FirstFrames: ...
    # Whether these frames tell, and the share as `shared_frames` gives it.
    def shared(self, other: FirstFrames) -> tuple[bool, float | None]: ...

# Reads a path (`-`: standard input) as it is written, in a thread of its own: a pipe to its end, a file as it grows
# until nothing came for `idle_s`. Raises OSError.
@final
class Live:
    def __new__(
        cls,
        path: str,
        *,
        name: str,
        idle_s: float | None = None,
        oversize_abs_ns: int | None = None,
        compile_filter: Callable[[int, int], bytes] | None = None,
        key_log: bytes | None = None,
        keep_bytes: int = 0,
        keep_s: float | None = None,
    ) -> Live: ...
    # What passed until now; connections that later ones do not have; how many this one has not. None while nothing has
    # come, and where it takes long.
    def snapshot(
        self, *, horizon_s: float | None = None, room_bytes: int | None = None
    ) -> tuple[Analysis, list[int], int] | None: ...
    # The last packets, as pcapng; None where that takes long.
    def packets(self) -> bytes | None: ...
    # Ends the reading; once.
    def finish(self) -> Analysis: ...
    @property
    def is_over(self) -> bool: ...
    @property
    def consumed_bytes(self) -> int: ...

# The limiting factors in the order of the results: name, words for sentences, whether it can hold a transfer back.
def factors() -> list[tuple[str, str, bool]]: ...

# Their labels, in the same order: name, label in lists, label where a column is narrow, and labels of those whose
# sentence begins with certain words.
def factor_labels() -> list[tuple[str, str, str, list[tuple[str, str]]]]: ...

# Sections of the document and tables: name, places in the document (of tables none), fields (`tables/fields.py`).
def fields() -> list[
    tuple[str, list[str], list[tuple[str, str, str, str, str | None, str | None, list[str], str, bool]]]
]: ...

# Time, frame, type, code, who sent it, largest packet; of the quoted segment addresses, ports, sequence number.
_IcmpError: TypeAlias = tuple[
    int, int, int, int, _Address, _Address, int | None, _Address, _Address, int, int, int | None
]
_Address: TypeAlias = IPv4Address | IPv6Address

# Why an input has to be read from its beginning, its TCP packets, its stretches (`vmtrace.analyze.read.index_file`).
_Index: TypeAlias = tuple[str | None, int, bytes]

# Each packet goes to the slice of its bucket by `write(bucket, piece)`, frames without TCP to one behind those.
# Returns what is known of the inputs, the TCP packets, the fragments of IP datagrams, and the datagrams that are not
# complete at the end; `lags` as in `Analysis`.
def split(
    inputs: Sequence[_Input | tuple[_Input, str]],
    write: Callable[[int, bytes], object],
    *,
    buckets: int,
    room_bytes: int,
    lags: Sequence[tuple[int, bytes, int]] = ...,
    compile_filter: Callable[[int, int], bytes] | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[Analysis, int, int, int, list[_IcmpError], list[_Index]]: ...

# The connections of a bucket: slices in order, each with the packets before its run and the numbers of its inputs.
def analyze_slices(
    slices: Sequence[tuple[_Input | tuple[_Input, str], int, Sequence[int]]],
    *,
    inputs: int,
    timeless: bool = False,
    end_ns: int | None = None,
    room_bytes: int | None = None,
    icmp_errors: Sequence[_IcmpError] = ...,
    translated: Sequence[int] = ...,
    related: Sequence[int] = ...,
    shared: Sequence[tuple[float, ...]] | None = None,
    key_log: bytes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Analysis: ...

# What is no TCP, from slices of frames without it, with the outlines of all buckets and the numbers of their
# connections among all (little-endian, 32 bits). A result without connections.
def beyond(
    slices: Sequence[tuple[_Input | tuple[_Input, str], int, Sequence[int]]],
    buckets: Sequence[tuple[bytes, bytes]],
    *,
    key_log: bytes | None = None,
    progress: Callable[[int], object] | None = None,
) -> Analysis: ...

# What connections of several buckets show together: what each packed (two parts), and the numbers of its connections
# among all (little-endian, 32 bits). A result without connections, and for each bucket the limits that its connections
# share: place, side, factor, rate, connections, from, to, confidence, bytes left by the others.
def merge_buckets(
    buckets: Sequence[tuple[bytes, bytes, bytes]],
) -> tuple[Analysis, list[list[tuple[float, ...]]]]: ...

# The packets of connections from stretches of their inputs: each with its number and the TCP packets of all before it;
# of its stretches offset, length, first frame, and the TCP packets of the input before it.
def analyze_stretches(
    inputs: Sequence[tuple[_Input | tuple[_Input, str], int, int, Sequence[tuple[int, int, int, int]]]],
    connections: Sequence[int],
    measured_before: Analysis,
    *,
    oversize_abs_ns: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Analysis: ...

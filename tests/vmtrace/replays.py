"""Captures sent again through a veth at their own pace, for tests: `prepared` makes the frames, `main` sends them.

`python tests/vmtrace/replays.py FILE INTERFACE` sends the frames of a pcap file of Ethernet with nanoseconds, as far
apart as they stand in it. It runs in the namespace of the interface, so it needs nothing but Python.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
_MAGIC_NS = 0xA1B23C4D
_ETHERNET = 1
_ADDRESSES = b"\x02\0\0\0\0\2\x02\0\0\0\0\1"
LONGEST_S = 60.0
_LONGEST_GAP_NS = 2_000_000_000
LARGEST_FRAME = 65_535
_BEGIN_NS = 1_700_000_000_000_000_000
Frame = tuple[int, bytes]


def prepared(capture: Path, folder: Path) -> Path | str:
    """The capture as a file that can be sent: frames of Ethernet as long as they were, gaps of 2 s and 60 s at most.

    What cannot be sent is said instead.
    """
    plain = folder / f"{capture.name}.plain"
    done = subprocess.run(
        ["editcap", "-F", "nsecpcap", str(capture), str(plain)], capture_output=True, check=False, timeout=120
    )
    if done.returncode and not (plain.exists() and plain.stat().st_size > _HEADER.size):
        return "editcap does not read it"
    content = plain.read_bytes()
    plain.unlink()
    link_type = _HEADER.unpack_from(content)[6] & 0xFFFF
    if link_type not in _TO_ETHERNET:
        return f"link type {link_type}"
    to_ethernet = _TO_ETHERNET[link_type]
    records = read(content)
    frames = [(at_ns, to_ethernet(frame) + bytes(length - len(frame))) for at_ns, frame, length in records]
    if not frames:
        return "no packets"
    if max(len(frame) for _, frame in frames) > LARGEST_FRAME:
        return "frames too large for a device"
    out = folder / f"{capture.name}.frames"
    out.write_bytes(file_of(_paced(frames)))
    return out


def read(content: bytes) -> list[tuple[int, bytes, int]]:
    """Times, captured bytes and original lengths of the records of a file with nanoseconds."""
    assert _HEADER.unpack_from(content)[0] == _MAGIC_NS
    at, found = _HEADER.size, []
    while at + _RECORD.size <= len(content):
        seconds, nanoseconds, captured, length = _RECORD.unpack_from(content, at)
        at += _RECORD.size
        found.append((seconds * 1_000_000_000 + nanoseconds, content[at : at + captured], length))
        at += captured
    return found


def file_of(frames: list[Frame]) -> bytes:
    """A pcap file of Ethernet with nanoseconds."""
    records = [_HEADER.pack(_MAGIC_NS, 2, 4, 0, 0, 262_144, _ETHERNET)]
    for at_ns, frame in frames:
        seconds, nanoseconds = divmod(at_ns, 1_000_000_000)
        records += _RECORD.pack(seconds, nanoseconds, len(frame), len(frame)), frame
    return b"".join(records)


def _paced(frames: list[Frame]) -> list[Frame]:
    now_ns, before_ns, paced = _BEGIN_NS, frames[0][0], list[Frame]()
    for at_ns, frame in frames:
        now_ns += min(max(at_ns - before_ns, 0), _LONGEST_GAP_NS)
        before_ns = at_ns
        if now_ns - _BEGIN_NS > LONGEST_S * 1e9:
            break
        paced.append((now_ns, frame))
    return paced


def _of_raw(frame: bytes) -> bytes:
    return _ADDRESSES + (b"\x86\xdd" if frame[:1] and frame[0] >> 4 == 6 else b"\x08\0") + frame


def _of_null(frame: bytes) -> bytes:
    return _of_raw(frame[4:])


def _of_cooked(frame: bytes) -> bytes:
    return _ADDRESSES + frame[14:]


def _of_cooked_2(frame: bytes) -> bytes:
    return _ADDRESSES + frame[:2] + frame[20:]


_TO_ETHERNET = {
    _ETHERNET: lambda frame: frame.ljust(14, b"\0"),
    0: _of_null,
    101: _of_raw,
    228: _of_raw,
    113: _of_cooked,
    276: _of_cooked_2,
}


def main(path: str, interface: str) -> None:
    """Send each frame when it is due."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.bind((interface, 0))
        frames = read(Path(path).read_bytes())
        begin_s, first_ns = time.monotonic(), frames[0][0]
        for at_ns, frame, _ in frames:
            wait_s = (at_ns - first_ns) / 1e9 - (time.monotonic() - begin_s)
            if wait_s > 0:
                time.sleep(wait_s)
            sender.send(frame)


if __name__ == "__main__":
    main(*sys.argv[1:])

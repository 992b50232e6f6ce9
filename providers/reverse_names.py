"""What the addresses of a service are called in reverse (PTR): providers' own names for their servers often tell where
they stand (airport codes, regions).

Asked of the host's resolver when all is transferred, so that no question of ours is in a capture or delays a transfer.
"""

import re
import socket
import threading
import time
from collections.abc import Iterable

WAIT_S = 5.0
MOST_ADDRESSES = 256
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")
_LONGEST_NAME = 254


def reverse_names(addresses: Iterable[str], wait_s: float = WAIT_S) -> dict[str, str | None]:
    """The name of each address, None where it has none; an address of which nothing came in time is left out."""
    found: dict[str, str | None] = {}

    def ask(address: str) -> None:
        found[address] = reverse_name(address)

    # The resolver's waiting cannot be broken off: what does not end in time ends with the process.
    asking = [
        threading.Thread(target=ask, args=(address,), daemon=True)
        for address in list(dict.fromkeys(addresses))[:MOST_ADDRESSES]
    ]
    for one in asking:
        one.start()
    ends_s = time.monotonic() + wait_s
    for one in asking:
        one.join(max(0.0, ends_s - time.monotonic()))
    return dict(found)


def reverse_name(address: str) -> str | None:
    """None where there is no name, or what came is none."""
    try:
        name, _ = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)
    except (OSError, UnicodeError):
        return None
    return name.rstrip(".") if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) else None

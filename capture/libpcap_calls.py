"""The system's libpcap, found and loaded, with the signatures of the calls that a live capture needs.

What the calls are used for is `libpcap`'s business.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import lru_cache

from vmtrace.capture.errors import CaptureError

# libpcap.so.1 is the name of most distributions, libpcap.so.0.8 that of Debian and Ubuntu.
_NAMES = ("libpcap.so.1", "libpcap.so.0.8")

POINTER = ctypes.c_void_p
SIGNATURES: dict[str, tuple[object, tuple[object, ...]]] = {
    "pcap_create": (POINTER, (ctypes.c_char_p, ctypes.c_char_p)),
    "pcap_set_snaplen": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_set_promisc": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_set_timeout": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_set_buffer_size": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_set_tstamp_precision": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_get_tstamp_precision": (ctypes.c_int, (POINTER,)),
    "pcap_tstamp_type_val_to_name": (ctypes.c_char_p, (ctypes.c_int,)),
    "pcap_activate": (ctypes.c_int, (POINTER,)),
    "pcap_setnonblock": (ctypes.c_int, (POINTER, ctypes.c_int, ctypes.c_char_p)),
    "pcap_setdirection": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_compile": (ctypes.c_int, (POINTER, POINTER, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32)),
    "pcap_setfilter": (ctypes.c_int, (POINTER, POINTER)),
    "pcap_freecode": (None, (POINTER,)),
    "pcap_fileno": (ctypes.c_int, (POINTER,)),
    "pcap_get_selectable_fd": (ctypes.c_int, (POINTER,)),
    "pcap_datalink": (ctypes.c_int, (POINTER,)),
    "pcap_set_datalink": (ctypes.c_int, (POINTER, ctypes.c_int)),
    "pcap_datalink_val_to_name": (ctypes.c_char_p, (ctypes.c_int,)),
    "pcap_dispatch": (ctypes.c_int, (POINTER, ctypes.c_int, POINTER, POINTER)),
    "pcap_stats": (ctypes.c_int, (POINTER, POINTER)),
    "pcap_geterr": (ctypes.c_char_p, (POINTER,)),
    "pcap_statustostr": (ctypes.c_char_p, (ctypes.c_int,)),
    "pcap_close": (None, (POINTER,)),
    "pcap_dump_fopen": (POINTER, (POINTER, POINTER)),
    "pcap_dump_close": (None, (POINTER,)),
    "pcap_findalldevs": (ctypes.c_int, (POINTER, ctypes.c_char_p)),
    "pcap_freealldevs": (None, (POINTER,)),
    "pcap_lib_version": (ctypes.c_char_p, ()),
}


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The system's libpcap.

    Raises:
        CaptureError: there is none, or one that is too old.
    """
    for name in (*_NAMES, None):
        # Last, because it starts ldconfig or a compiler, which a bare system may lack.
        found = name or ctypes.util.find_library("pcap")
        try:
            loaded = ctypes.CDLL(found) if found else None
        except OSError:
            continue
        if loaded is not None:
            return _declared(loaded)
    raise CaptureError(
        "capturing needs libpcap, which is not installed (Debian, Ubuntu: apt install libpcap0.8; "
        "Fedora, Amazon Linux: dnf install libpcap; Alpine: apk add libpcap)"
    )


def _declared(loaded: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in SIGNATURES.items():
        try:
            function = getattr(loaded, name)
        except AttributeError:
            raise CaptureError(f"this libpcap has no {name}: capturing needs libpcap 1.5 or newer") from None
        function.restype, function.argtypes = result, arguments
    return loaded

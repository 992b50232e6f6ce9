"""libpcap is found without help, and one line says what to do where it is missing or too old."""

from __future__ import annotations

import ctypes

import pytest

from vmtrace.capture import libpcap_calls
from vmtrace.capture.errors import CaptureError


def test_without_libpcap_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise OSError(name)

    libpcap_calls.library.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", none)
    monkeypatch.setattr("ctypes.util.find_library", lambda _: None)
    try:
        with pytest.raises(CaptureError, match=r"apt install libpcap0\.8.*dnf install libpcap"):
            libpcap_calls.library()
    finally:
        libpcap_calls.library.cache_clear()


def test_a_library_without_a_needed_call_is_named_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    libpcap_calls.library.cache_clear()
    monkeypatch.setitem(libpcap_calls.SIGNATURES, "pcap_of_tomorrow", (None, ()))
    try:
        with pytest.raises(CaptureError, match="no pcap_of_tomorrow"):
            libpcap_calls.library()
    finally:
        libpcap_calls.library.cache_clear()

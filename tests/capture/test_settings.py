"""Settings refuse nonsense, and grow their buffer after a drop."""

from __future__ import annotations

import pytest

from vmtrace.capture import buffer_size
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.settings import CaptureSettings


def test_the_defaults_keep_headers_of_both_directions() -> None:
    settings = CaptureSettings("eth0")
    assert (settings.filter, settings.snaplen, settings.buffer_bytes) == ("", None, None)
    assert (settings.direction, settings.promiscuous, settings.nanoseconds) == ("both", False, True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"interface": ""}, "interface is empty"),
        ({"interface": "lo", "snaplen": 0}, "snap length 0"),
        ({"interface": "lo", "snaplen": 262_145}, "between 1 and 262144"),
        ({"interface": "lo", "buffer_bytes": 0}, "buffer of 0 bytes"),
        ({"interface": "lo", "buffer_bytes": 1 << 31}, "buffer of 2147483648 bytes"),
        ({"interface": "lo", "direction": "up"}, "direction 'up'"),
        ({"interface": "lo", "filter": "tcp\0"}, "zero bytes"),
    ],
)
def test_nonsense_is_refused_in_one_line(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(CaptureError, match=message):
        CaptureSettings(**wrong)  # type: ignore[arg-type]


def test_the_buffer_asked_for_is_the_one_named_or_one_for_the_link() -> None:
    assert CaptureSettings("lo", buffer_bytes=12345).buffer_wanted_bytes() == 12345
    assert CaptureSettings("lo").buffer_wanted_bytes() == buffer_size.for_link("lo", None)


def test_a_larger_buffer_is_twice_as_large_until_memory_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_size, "_available_bytes", lambda: 16 << 30)
    settings = CaptureSettings("lo", filter="tcp")
    sizes = [settings.buffer_wanted_bytes()]
    for _ in range(6):
        settings = settings.with_larger_buffer()
        sizes.append(settings.buffer_wanted_bytes())
    assert [size >> 20 for size in sizes] == [64, 128, 256, 512, 1024, 1024, 1024]
    assert settings.filter == "tcp"
    monkeypatch.setattr(buffer_size, "_available_bytes", lambda: 1 << 30)
    assert CaptureSettings("lo", buffer_bytes=200 << 20).with_larger_buffer().buffer_bytes == 256 << 20
    assert CaptureSettings("lo", buffer_bytes=300 << 20).with_larger_buffer().buffer_bytes == 300 << 20

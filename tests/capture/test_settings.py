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
    sizes = [CaptureSettings("lo", filter="tcp").buffer_wanted_bytes()]
    for _ in range(6):
        sizes.append(buffer_size.larger(sizes[-1]))
    assert [size >> 20 for size in sizes] == [64, 128, 256, 512, 1024, 1024, 1024]
    monkeypatch.setattr(buffer_size, "_available_bytes", lambda: 1 << 30)
    assert buffer_size.larger(200 << 20) == 256 << 20
    assert buffer_size.larger(300 << 20) == 300 << 20

"""What a client's own network says after a failure, of files and echoes that are made up."""

import socket
from pathlib import Path

import pytest

from vmtrace.providers.errors import manner_of
from vmtrace.providers.own_network import OwnNetwork

ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF
"""


def root_of(folder: Path, link: str) -> Path:
    for name, text in (
        ("proc/net/route", ROUTES), ("etc/resolv.conf", "nameserver 127.0.0.53\nnameserver 192.0.2.53\n"),
        ("sys/class/net/eth0/operstate", f"{link}\n"),
    ):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_only_what_answered_before_is_asked_again(tmp_path: Path) -> None:
    alive = {"192.0.2.1"}
    network = OwnNetwork.known("eth0", lambda address: 0.001 if address in alive else None, root_of(tmp_path, "up"))
    assert network is not None
    assert network.targets == ("192.0.2.1",)
    assert network.state()["answered"] == ["192.0.2.1"]
    alive.clear()
    state = network.state()
    assert (state["link"], state["asked"], state["answered"]) == ("up", ["192.0.2.1"], [])


def test_a_link_that_is_down_is_said_and_loopback_has_none(tmp_path: Path) -> None:
    def no_way(address: str) -> float | None:
        raise OSError(address)

    network = OwnNetwork.known("eth0", no_way, root_of(tmp_path, "lowerlayerdown"))
    assert network is not None
    assert network.state()["link"] == "down"
    assert OwnNetwork.known("lo", no_way, tmp_path) is None
    assert OwnNetwork.known(None, no_way, tmp_path) is None


@pytest.mark.parametrize(
    ("error", "manner"),
    [
        (socket.gaierror(-2, "Name or service not known"), "name"), (ConnectionRefusedError(111, "refused"), "refused"),
        (ConnectionResetError(104, "reset"), "reset"), (TimeoutError("timed out"), "timeout"),
        (OSError(101, "Network is unreachable"), "unreachable"), (ValueError("no"), None),
    ],
)  # fmt: skip
def test_how_the_way_failed_is_found_under_what_an_sdk_wraps(error: Exception, manner: str | None) -> None:
    wrapped = RuntimeError("an SDK's own")
    wrapped.__cause__ = error
    assert manner_of(error) == manner_of(wrapped) == manner

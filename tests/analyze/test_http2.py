"""HTTP/2 of a real stack (h2), in clear text and inside TLS of OpenSSL, with secrets in a key log or in the capture."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.tls_wire import ONE_WAY_S, Clear, Tls, Wire, with_secrets
from vmtrace.analyze.trace import Options, read
from vmtrace.lab.services.certificates import Certificates

pytest.importorskip("h2")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.settings import SettingCodes

WINDOW_BYTES = 16_384
RESPONSE_BYTES = 150_000


def download(layer: Clear | Tls) -> Wire:
    """One response; the client gives credit for a window when it has received one, and not before."""
    wire = Wire()
    layer.handshake(wire.says)
    client, server = H2Connection(H2Configuration()), H2Connection(H2Configuration(client_side=False))
    client.initiate_connection()
    client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES})
    client.increment_flow_control_window(1 << 24)
    server.initiate_connection()
    _cross(wire, layer, (client, server), 0)
    _cross(wire, layer, (client, server), 1)
    heads = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
    client.send_headers(1, heads, end_stream=True)
    left, received, asked = RESPONSE_BYTES, 0, False
    while True:
        events = _cross(wire, layer, (client, server), 0)
        if any(isinstance(event, RequestReceived) for event in events):
            asked = True
            server.send_headers(1, [(":status", "200")])
        while asked and left and (size := min(server.local_flow_control_window(1), left, 16_384)) > 0:
            left -= size
            server.send_data(1, bytes(size), end_stream=left == 0)
        events = _cross(wire, layer, (client, server), 1)
        if any(isinstance(event, StreamEnded) for event in events):
            return wire
        received += sum(event.flow_controlled_length for event in events if isinstance(event, DataReceived))
        if received >= WINDOW_BYTES:
            client.increment_flow_control_window(received, 1)
            received = 0


def _cross(wire: Wire, layer: Clear | Tls, ends: tuple[H2Connection, H2Connection], side: int) -> list[Any]:
    """What a side has to say crosses; the events that it is for the other one."""
    payload = layer.sealed(side, ends[side].data_to_send())
    wire.says(side, payload)
    return list(ends[1 - side].receive_data(layer.opened(1 - side, payload)))


def http2_of(path: Path, keylog: Path | None = None) -> dict[str, Any] | None:
    """Of the only connection."""
    document = read(path, options=Options(key_log=None if keylog is None else str(keylog))).json()
    [connection] = document["connections"]
    found: dict[str, Any] | None = connection.get("http2")
    return found


def check(http2: dict[str, Any] | None) -> None:
    assert http2 is not None
    assert http2["initial_window_bytes"] == WINDOW_BYTES
    assert (http2["streams"], http2["data_sender"], http2["data_bytes"]) == (1, "server", RESPONSE_BYTES)
    rounds = RESPONSE_BYTES // WINDOW_BYTES
    assert (http2["window_limited_times"], http2["connection_window_limited_times"]) == (rounds, 0)
    assert http2["window_limited_s"] == pytest.approx(rounds * 2 * ONE_WAY_S, rel=0.02)
    assert http2["complete"]


def test_windows_in_clear_text(tmp_path: Path) -> None:
    check(http2_of(download(Clear()).capture.write(tmp_path / "clear.pcap")))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_windows_inside_tls_with_keys(chain: Certificates, tmp_path: Path, version: ssl.TLSVersion) -> None:
    keylog = tmp_path / "keys.log"
    path = download(Tls(chain, keylog, version)).capture.write(tmp_path / "tls.pcap")
    check(http2_of(path, keylog))
    assert http2_of(path) is None
    within = tmp_path / "with-secrets.pcapng"
    within.write_bytes(with_secrets(path.read_bytes(), keylog.read_bytes()))
    check(http2_of(within))

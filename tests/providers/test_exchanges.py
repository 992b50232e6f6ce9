"""What an SDK says over HTTP is seen as it is: on which connection, how often, and why again."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import urllib3
from urllib3.connection import HTTPConnection

from vmtrace.providers.errors import BudgetError
from vmtrace.providers.exchanges import HttpObserver

# Answers with the status that the path says; `/break` ends before its time. A program of its own: an SDK that finds
# eventlet changes how the threads of this one wait.
SERVER = """
import http.server

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/break":
            self.close_connection = True
            return
        if self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"5\\r\\nxxxxx\\r\\n0\\r\\n\\r\\n")
            return
        word = self.path.split("/")[1]
        self.send_response(int(word) if word.isdigit() else 200)
        self.send_header("Content-Length", "100")
        self.send_header("x-amz-request-id", "id-7")
        self.end_headers()
        self.wfile.write(b"x" * 100)

    def do_PUT(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_):
        return

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.kill()


def get(pool: urllib3.PoolManager, url: str, **more: Any) -> None:
    pool.request("GET", url, retries=False, timeout=20, **more)


def test_an_exchange_has_its_connection_status_and_request_id(url: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        get(pool, f"{url}/a")
        get(pool, f"{url}/b")
        first = observer.end()
        observer.begin()
        get(pool, f"{url}/a")
        second = observer.end()
    (use,) = first.connections
    assert (use.requests, use.opened, use.peer) == (2, True, url.removeprefix("http://"))
    assert (first.requests, first.retries, first.status, first.request_id) == (2, 0, 200, "id-7")
    assert first.front_end == use.peer
    assert first.first_byte_ns is not None
    assert first.start_ns <= first.first_byte_ns <= first.end_ns
    assert (second.connections[0].local, second.connections[0].opened) == (use.local, False)
    assert list(observer.front_ends) == [use.peer]
    json.dumps(first.as_record())


def test_a_new_client_opens_its_connections_even_if_the_port_is_used_again(url: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        get(pool, f"{url}/a")
        observer.end()
        observer.forget_connections()
        observer.begin()
        get(pool, f"{url}/a")
        assert observer.end().connections[0].opened


def test_the_same_request_again_is_a_retry_with_the_status_that_failed(url: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        for _ in range(3):
            get(pool, f"{url}/503")
        exchange = observer.end()
    assert (exchange.requests, exchange.retries, exchange.retry_causes) == (3, 2, {"503": 2})


def test_a_request_without_a_reply_and_a_body_that_was_not_enough_have_their_causes(url: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        for _ in range(2):
            with suppress(urllib3.exceptions.HTTPError):
                get(pool, f"{url}/break")
        get(pool, f"{url}/200")
        get(pool, f"{url}/200")
        exchange = observer.end()
    assert exchange.retry_causes == {"connection": 1, "body": 1}


def test_other_ranges_of_the_same_object_are_no_retries(url: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        get(pool, f"{url}/a", headers={"Range": "bytes=0-9"})
        get(pool, f"{url}/a", headers={"Range": "bytes=10-19"})
        get(pool, f"{url}/a", headers={"Range": "bytes=10-19"})
        assert observer.end().retries == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connect_that_fails_and_is_tried_again_is_a_retry_and_no_request(scheme: str) -> None:
    with HttpObserver() as observer, urllib3.PoolManager() as pool:
        observer.begin()
        for _ in range(3):
            with suppress(urllib3.exceptions.HTTPError):
                get(pool, f"{scheme}://127.0.0.1:1/a")
        exchange = observer.end()
    assert (exchange.retries, exchange.retry_causes) == (2, {"connection": 2})
    assert (exchange.status, exchange.front_end, exchange.connections) == (None, None, ())


class Recorder:
    """A meter that refuses bodies above a size."""

    def __init__(self, most: int) -> None:
        self.most, self.heard = most, list[tuple[str, object]]()

    def request(self, method: str, target: str) -> None:
        self.heard.append(("request", f"{method} {target}"))

    def upload(self, size_bytes: int) -> None:
        self.heard.append(("upload", size_bytes))
        if size_bytes > self.most:
            raise BudgetError("too much")

    def download(self, size_bytes: int) -> None:
        self.heard.append(("download", size_bytes))


def test_the_meter_hears_of_bodies_before_they_are_sent_and_may_refuse_them(url: str) -> None:
    meter = Recorder(10)
    with HttpObserver(meter) as observer, urllib3.PoolManager() as pool:
        observer.begin(metered=True)
        pool.request("PUT", f"{url}/a", body=b"y" * 10, retries=False)
        with pytest.raises(BudgetError):
            pool.request("PUT", f"{url}/b", body=b"y" * 11, retries=False)
        exchange = observer.end()
        observer.begin()
        get(pool, f"{url}/a")
        observer.end()
    assert meter.heard == [
        ("request", "PUT /a"), ("upload", 10), ("download", 100), ("request", "PUT /b"), ("upload", 11),
        ("request", "GET /a"),
    ]  # fmt: skip
    assert exchange.requests == 2


@pytest.mark.parametrize(("path", "heard"), [("chunked", [("download", 5)]), ("a", [("download", 100)])])
def test_a_body_whose_size_was_not_announced_is_counted_as_it_comes(
    url: str, path: str, heard: list[tuple[str, object]]
) -> None:
    meter = Recorder(10)
    with HttpObserver(meter) as observer, urllib3.PoolManager() as pool:
        observer.begin(metered=True)
        body = pool.request("GET", f"{url}/{path}", retries=False, timeout=20).data
        observer.received(len(body))
        observer.end()
        observer.begin()
        get(pool, f"{url}/chunked")
        observer.received(5)
        observer.end()
    assert [one for one in meter.heard if one[0] != "request"] == heard


def test_urllib3_is_as_it_was_afterwards_and_observed_once_at_a_time() -> None:
    before = (HTTPConnection.putrequest, HTTPConnection.getresponse, HTTPConnection.connect)
    with HttpObserver():
        assert HTTPConnection.putrequest is not before[0]
        with pytest.raises(RuntimeError, match="one run at a time"), HttpObserver():
            pass
    assert (HTTPConnection.putrequest, HTTPConnection.getresponse, HTTPConnection.connect) == before


class _Socket:
    """Counts how often it is asked."""

    asked = 0

    def getsockname(self) -> tuple[str, int]:
        self.asked += 1
        return "::1", 1

    def getpeername(self) -> tuple[str, int]:
        return "192.0.2.1", 443


class _Connection:
    def __init__(self, sock: object) -> None:
        self.sock = sock


def test_a_socket_is_asked_once_for_its_ends_and_another_in_its_place_anew() -> None:
    observer, connection = HttpObserver(), _Connection(_Socket())
    first = connection.sock
    for _ in range(3):
        assert observer._ends(connection) == ("[::1]:1", "192.0.2.1:443")
    connection.sock = _Socket()
    assert observer._ends(connection) == ("[::1]:1", "192.0.2.1:443")
    assert (first.asked, connection.sock.asked) == (1, 1)  # type: ignore[attr-defined]
    for nothing in (None, object(), 7):  # closed; and what has no ends, or cannot be remembered
        assert observer._ends(_Connection(nothing)) == (None, None)

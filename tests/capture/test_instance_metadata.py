"""The metadata service is asked where it is EC2's, by the rules of IMDSv2, and not believed more than a stranger."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vmtrace.capture.instance_metadata
from vmtrace.capture.instance_metadata import SETTING, _body, _is_complete, check_setting, instance_metadata, is_ec2

TOKEN = "AQAEAHh0b2tlbg=="
FACTS = {
    "instance-id": "i-0123456789abcdef0",
    "instance-type": "t3.micro",
    "ami-id": "ami-0abcdef1234567890",
    "instance-life-cycle": "on-demand",
    "placement/region": "eu-central-1",
    "placement/availability-zone": "eu-central-1b",
    "placement/availability-zone-id": "euc1-az3",
}
Answer = Callable[[http.server.BaseHTTPRequestHandler, str], None]


def plain(handler: http.server.BaseHTTPRequestHandler, text: str, status: int = 200) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text.encode("latin-1"))


class Service(http.server.ThreadingHTTPServer):
    """Speaks IMDSv2 as AWS does; `answer` may do otherwise with each value."""

    daemon_threads = True

    def __init__(self, answer: Answer, token: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.token = answer, token
        self.asked: list[str] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    server: Service

    def do_PUT(self) -> None:
        self.server.asked.append(self.path)
        if self.path != "/latest/api/token" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            plain(self, "", 400)
        else:
            self.server.token(self, TOKEN)

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        value = FACTS.get(self.path.removeprefix("/latest/meta-data/"))
        if self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            plain(self, "", 401)
        elif value is None:
            plain(self, "<html>404</html>", 404)
        else:
            self.server.answer(self, value)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the library's)
        """Nothing on the terminal."""


@contextmanager
def service(answer: Answer = plain, token: Answer = plain) -> Iterator[Service]:
    server = Service(answer, token)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(SETTING, f"http://127.0.0.1:{server.server_address[1]}/")
            yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_instance_s_facts_are_asked_with_a_token() -> None:
    with service() as server:
        facts = instance_metadata()
    assert facts is not None
    assert facts.as_record() == {
        "provider": "aws",
        "instance_id": "i-0123456789abcdef0",
        "instance_type": "t3.micro",
        "ami_id": "ami-0abcdef1234567890",
        "life_cycle": "on-demand",
        "region": "eu-central-1",
        "availability_zone": "eu-central-1b",
        "availability_zone_id": "euc1-az3",
        "placement_group": None,
        "partition_number": None,
        "host_id": None,
        "error": None,
    }
    assert server.asked[0] == "/latest/api/token"


def slow(handler: http.server.BaseHTTPRequestHandler, text: str) -> None:
    """One byte at a time: each read succeeds, and the answer never ends."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(text)))
    handler.end_headers()
    for letter in text * 10:
        time.sleep(0.2)
        handler.wfile.write(letter.encode())


def huge(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _number in range(1000):
        handler.wfile.write(b"i-" + b"0" * 10_000)


def garbage(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
    handler.wfile.write(b"\0\xff\r\n\r\n\0")


def other_words(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
    plain(handler, "<script>alert(1)</script>\n\x1b[31m")


def elsewhere(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
    handler.send_response(302)
    handler.send_header("Location", "/latest/meta-data/region")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def too_long(handler: http.server.BaseHTTPRequestHandler, _: str) -> None:
    plain(handler, "i" * 129)


@pytest.mark.parametrize("answer", [huge, garbage, other_words, elsewhere, too_long])
def test_answers_that_are_no_plain_words_are_not_taken(answer: Answer) -> None:
    with service(answer) as server:
        facts = instance_metadata()
    assert facts is not None
    assert {name: value for name, value in facts.as_record().items() if value} == {"provider": "aws"}
    assert "/latest/meta-data/region" not in server.asked


@pytest.mark.parametrize("token", [huge, garbage, other_words, elsewhere, lambda handler, _: plain(handler, "", 403)])
def test_without_a_token_nothing_else_is_asked(token: Answer) -> None:
    with service(token=token) as server:
        facts = instance_metadata()
    assert facts is not None
    assert facts.error is not None
    assert "gave no token" in facts.error
    assert facts.instance_id is None
    assert server.asked == ["/latest/api/token"]


@pytest.mark.parametrize(("answer", "token"), [(slow, plain), (plain, slow)])
def test_a_slow_service_takes_no_longer_than_the_limit(
    answer: Answer, token: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vmtrace.capture.instance_metadata, "LIMIT_S", 0.5)
    with service(answer, token):
        start_s = time.monotonic()
        facts = instance_metadata()
        assert time.monotonic() - start_s < 3
    assert facts is not None
    assert facts.error is not None
    assert facts.error.startswith("metadata service at 127.0.0.1: ")
    assert "\n" not in facts.error


def test_a_service_that_does_not_listen_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv(SETTING, f"http://127.0.0.1:{port}")
    facts = instance_metadata()
    assert facts is not None
    assert facts.error is not None
    assert "refused" in facts.error


@pytest.mark.parametrize("silent_first", [True, False])
def test_the_second_address_is_asked_when_the_first_is_silent(
    monkeypatch: pytest.MonkeyPatch, silent_first: bool
) -> None:
    monkeypatch.setattr(vmtrace.capture.instance_metadata, "LIMIT_S", 0.6)
    with socket.create_server(("127.0.0.1", 0)) as silent, service() as server:
        services = [("127.0.0.1", silent.getsockname()[1]), ("127.0.0.1", server.server_address[1])]
        monkeypatch.setattr(
            vmtrace.capture.instance_metadata, "_SERVICES", services if silent_first else services[::-1]
        )
        monkeypatch.setenv(SETTING, "force")
        facts = instance_metadata()
    assert facts is not None
    assert (facts.instance_type, facts.error) == ("t3.micro", None)


def test_a_host_that_is_not_ec2_s_asks_nobody_and_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        pytest.fail("a connection was made")

    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(socket.socket, "connect", connect)
    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("QEMU\n")
    start_s = time.monotonic()
    assert instance_metadata(tmp_path) is None
    assert time.monotonic() - start_s < 10


def test_never_is_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "never")
    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("Amazon EC2\n")
    assert is_ec2(tmp_path)
    assert instance_metadata(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "text", "ec2"),
    [
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n", True),
        ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n", False),
        ("sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n", True),
        ("sys/hypervisor/uuid", "4c4c4544-0042\n", False),
        ("sys/class/dmi/id/product_uuid", "EC2E1916-9099-7CAF-FD21-012345ABCDEF\n", True),
    ],
)
def test_firmware_and_hypervisor_tell_an_instance(tmp_path: Path, name: str, text: str, ec2: bool) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    assert is_ec2(tmp_path) is ec2


@pytest.mark.parametrize("setting", ["yes", "https://127.0.0.1", "http://metadata.example/", "http://[::1]:99999"])
def test_a_setting_that_makes_no_sense_is_reported_in_one_line(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, setting)
    for asked in (instance_metadata, check_setting):
        with pytest.raises(ValueError, match="must be never, force, or a URL"):
            asked()


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_none(raw: bytes) -> None:
    _is_complete(raw)
    body = _body(raw)
    assert body is None or raw.endswith(body)

"""Logins of Swift by the identity service's v3 API: what works, and what each wrong setting is told as."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.providers import identity_stand_in
from tests.providers.real_services import Bench
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import HOPELESS, ErrorKind
from vmtrace.providers.files import craft
from vmtrace.providers.plan import Workload

# The SDK calls its own library of identity with arguments that this calls old.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def identity(swift_service: Server, chain: Certificates) -> Iterator[dict[str, str]]:
    with identity_stand_in.started(swift_service, chain) as settings:
        yield settings


@pytest.fixture
def account(
    identity: dict[str, str],
    swift_service: Server,
    client_of: Callable[[Server], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Bench]:
    """A client's settings are those that work, with some changed; None leaves one out."""
    client_of(swift_service)
    for name in [name for name in os.environ if name.startswith(("ST_", "OS_"))]:
        monkeypatch.delenv(name)

    def with_these(**changed: str | None) -> Bench:
        for name, value in {**identity, **changed}.items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return Bench(registry.find("swift"), f"vmtrace-{os.urandom(6).hex()}", {"retries": "0"})

    return with_these


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({}, id="v3"),
        pytest.param({"OS_IDENTITY_API_VERSION": None}, id="without-a-version"),
        pytest.param({"OS_AUTH_URL": "versionless"}, id="url-without-a-version"),
        pytest.param({"OS_REGION_NAME": identity_stand_in.REGION}, id="region"),
    ],
)
def test_a_login_by_v3_moves_objects_both_ways(
    account: Callable[..., Bench], identity: dict[str, str], changed: dict[str, str | None], tmp_path: Path
) -> None:
    if changed.get("OS_AUTH_URL"):
        changed = {"OS_AUTH_URL": identity["OS_AUTH_URL"].removesuffix("/v3")}
    (file,) = craft(tmp_path, Workload("one", 1, 1_000), None)
    client = account(**changed).client()
    client.create_container()
    client.login()
    stored = client.upload("object", file)
    sink = DigestSink()
    client.download(stored.reference, sink)
    assert sink.sha256() == file.sha256
    client.delete([stored.reference])
    client.remove_container()
    assert "/v1/AUTH_" in client.endpoint
    client.close()


REFUSED = [
    pytest.param({"OS_PASSWORD": "no"}, ErrorKind.CREDENTIALS, "OS_PASSWORD", id="password"),
    pytest.param({"OS_USERNAME": "nobody"}, ErrorKind.CREDENTIALS, "OS_USERNAME", id="user"),
    pytest.param({"OS_PROJECT_NAME": "nope"}, ErrorKind.CREDENTIALS, "OS_PROJECT_NAME", id="project"),
    pytest.param({"OS_PROJECT_NAME": None}, ErrorKind.CREDENTIALS, "set OS_PROJECT_NAME", id="no-project"),
    pytest.param({"OS_PASSWORD": None}, ErrorKind.CREDENTIALS, "OS_PASSWORD", id="no-password"),
    pytest.param({"OS_REGION_NAME": "Mars"}, ErrorKind.UNSUPPORTED, "--region", id="region"),
    pytest.param(
        {"OS_IDENTITY_API_VERSION": "9"}, ErrorKind.UNSUPPORTED, "set OS_IDENTITY_API_VERSION to 3", id="version"
    ),
    pytest.param({"OS_CACERT": "/nowhere.pem"}, ErrorKind.TLS_VERIFICATION, "--ca-bundle", id="ca-file"),
    pytest.param({"OS_CACERT": None}, ErrorKind.TLS_VERIFICATION, "--ca-bundle", id="ca"),
    pytest.param({"OS_AUTH_URL": "https://127.0.0.1:1/v3"}, ErrorKind.ENDPOINT_GONE, "the network", id="refused"),
]


@pytest.mark.parametrize(("changed", "kind", "remedy"), REFUSED)
def test_a_login_that_is_refused_is_one_line_that_names_what_to_set(
    account: Callable[..., Bench], changed: dict[str, str | None], kind: ErrorKind, remedy: str
) -> None:
    client = account(**changed).client()
    for step in (client.login, client.create_container):
        error = Bench(registry.find("swift"), "x", {}).told(step)
        line = error.shown("swift")
        assert error.kind == kind
        assert remedy in line
        assert "\n" not in line
        assert ".:" not in line
    client.close()
    assert kind in HOPELESS | {ErrorKind.ENDPOINT_GONE}


def test_a_url_that_is_no_identity_service_s_is_reported(account: Callable[..., Bench], swift_service: Server) -> None:
    bench = account(OS_AUTH_URL=f"{swift_service.endpoint_url}/v3")
    client = bench.client()
    error = bench.told(client.login)
    client.close()
    assert error.kind == ErrorKind.UNSUPPORTED
    assert "check OS_AUTH_URL" in error.shown("swift")


@pytest.mark.parametrize("missing", ["ST_USER", "ST_KEY"])
def test_a_login_by_v1_without_a_user_or_key_is_reported_before_anything_is_sent(
    swift_service: Server, client_of: Callable[[Server], None], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    client_of(swift_service)
    monkeypatch.delenv(missing)
    bench = Bench(registry.find("swift"), "vmtrace-x", {})
    client = bench.client()
    error = bench.told(client.login)
    client.close()
    assert error.kind == ErrorKind.CREDENTIALS
    assert missing in error.shown("swift")

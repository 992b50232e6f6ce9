"""Refusals in a service's own words, through its SDK: each is told with its kind and the remedy.

No server at hand refuses a wrong clock or a token of yesterday, so that the fault proxy says what S3 and Azure say; the
quota, and the token that ends while a client is at work, are Swift's own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.providers.real_services import Bench
from vmtrace.lab.services import fault_proxy, swift
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind
from vmtrace.providers.files import craft
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import Service, Target

ALWAYS = Fault(Action.STATUS, times=1_000_000)
SKEWED = replace(
    ALWAYS,
    status=403,
    code="RequestTimeTooSkewed",
    message="The difference between the request time and the current time is too large.",
)
EXPIRED = replace(ALWAYS, status=400, code="ExpiredToken", message="The provided token has expired.")
AZURE_REFUSED = replace(
    ALWAYS, status=403, code="AuthenticationFailed", message="Server failed to authenticate the request."
)
AZURE_SKEWED = replace(AZURE_REFUSED, detail="Request date header too old: 'Fri, 20 Nov 2026 08:00:00 GMT'")
AZURE_EXPIRED = replace(
    AZURE_REFUSED,
    detail="Signature not valid in the specified time frame: Start [Thu, 19 Nov 2026 08:00:00 GMT] - "
    "Expiry [Fri, 20 Nov 2026 08:00:00 GMT] - Current [Sat, 21 Nov 2026 08:00:00 GMT]",
)
REFUSALS = [
    pytest.param("s3", SKEWED, ErrorKind.CLOCK_SKEW, id="s3-clock"),
    pytest.param("s3", EXPIRED, ErrorKind.EXPIRED_TOKEN, id="s3-token"),
    pytest.param("azure-blob", AZURE_SKEWED, ErrorKind.CLOCK_SKEW, id="azure-clock", marks=pytest.mark.may_skip),
    pytest.param("azure-blob", AZURE_EXPIRED, ErrorKind.EXPIRED_TOKEN, id="azure-token", marks=pytest.mark.may_skip),
]
REMEDIES = {ErrorKind.CLOCK_SKEW: "set this machine's clock (NTP)", ErrorKind.EXPIRED_TOKEN: "get a new token"}


@pytest.fixture
def refused_by(
    server_of: Callable[[str], Server], chain: Certificates, client_of: Callable[[Server], None]
) -> Iterator[Callable[..., Bench]]:
    """A service behind a proxy that refuses as the rules say."""
    with ExitStack() as running:

        def make(provider: str, *rules: Fault) -> Bench:
            client_of(running.enter_context(fault_proxy.started(server_of(provider), rules, chain)).service)
            return Bench(registry.find(provider), f"vmtrace-{os.urandom(6).hex()}", {})

        yield make


@pytest.mark.parametrize("step", ["login", "create_container", "own_objects"])
@pytest.mark.parametrize(("provider", "refusal", "kind"), REFUSALS)
def test_a_refused_account_is_reported_with_the_remedy_whatever_was_asked(
    refused_by: Callable[..., Bench], provider: str, refusal: Fault, kind: ErrorKind, step: str
) -> None:
    bench = refused_by(provider, refusal)
    client = bench.client()
    work = {"own_objects": lambda: list(client.own_objects("vmtrace-x/"))}.get(step, getattr(client, step))
    error = bench.told(work)
    client.close()
    assert error.kind == kind
    assert REMEDIES[kind] in error.shown("x")
    assert "\n" not in error.shown("x")


@pytest.mark.parametrize(("provider", "refusal", "kind"), REFUSALS)
def test_a_token_or_clock_that_is_refused_in_mid_run_is_reported_by_upload_and_download(
    refused_by: Callable[..., Bench], provider: str, refusal: Fault, kind: ErrorKind, tmp_path: Path
) -> None:
    (file,) = craft(tmp_path, Workload("one", 1, 1_000), None)
    passes = 3 if provider == "s3" else 2  # is the bucket there; make it; put the object
    bench = refused_by(provider, replace(refusal, skip=passes))
    client = bench.client()
    client.create_container()
    stored = client.upload("object", file)
    assert bench.told(lambda: client.download(stored.reference, DigestSink())).kind == kind
    assert bench.told(lambda: client.upload("second", file)).kind == kind
    client.close()


@pytest.mark.parametrize("bench", ["swift"], indirect=True)
def test_a_container_s_quota_is_reported_and_what_fits_still_goes_in(
    bench: Bench, service: Service, tmp_path: Path
) -> None:
    import swiftclient

    account = [os.environ[name] for name in ("ST_AUTH", "ST_USER", "ST_KEY")]
    with closing(swiftclient.Connection(*account, cacert=os.environ["OS_CACERT"])) as owner:
        owner.post_container(bench.container, {"X-Container-Meta-Quota-Bytes": "1500"})
    (small,) = craft(tmp_path / "small", Workload("small", 1, 1_000), None)
    (large,) = craft(tmp_path / "large", Workload("large", 1, 2_000), None)
    kept = service.upload("first", small)
    error = bench.told(lambda: service.upload("second", large))
    assert error.kind == ErrorKind.QUOTA
    assert "free some space" in error.shown("x")
    service.delete([kept.reference])
    service.remove_container()


def test_a_token_of_swift_that_ends_in_mid_run_is_renewed_by_the_sdk(
    chain: Certificates, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    (file,) = craft(tmp_path, Workload("one", 1, 1_000), None)
    with swift.started(chain, token_life_s=1) as server:
        client_of(server)
        adapter = registry.find("swift")
        client = registry.build(adapter, Target(adapter.name, "vmtrace-short-token"))
        client.create_container()
        client.login()
        time.sleep(1.5)
        stored = client.upload("object", file)
        time.sleep(1.5)
        sink = DigestSink()
        client.download(stored.reference, sink)
        client.delete([stored.reference])
        client.remove_container()
        client.close()
    assert sink.sha256() == file.sha256

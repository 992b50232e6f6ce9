"""The web seed: what will not do is refused before any download, and a signature is never shown."""

from pathlib import Path

import pytest

from tests.providers.swarm_made import Behaviour, web_server
from vmtrace.providers.errors import UsageError
from vmtrace.providers.swarm.errors import SwarmError
from vmtrace.providers.swarm.web_seed import FORBIDDEN, PUBLIC, asked, unsigned, web_seed, without_secrets

CONTENT = bytes(range(256)) * 40
SECRET = "?X-Amz-Signature=abc&X-Amz-Credential=me"


def test_an_object_with_ranges_will_do() -> None:
    with web_server(Behaviour(CONTENT)) as url:
        assert asked(web_seed(url), len(CONTENT), None).access == PUBLIC


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_forbidden(status: int) -> None:
    with web_server(Behaviour(CONTENT, status=status)) as url:
        access = asked(web_seed(url), len(CONTENT), None)
    assert (access.access, access.status) == (FORBIDDEN, status)


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (Behaviour(CONTENT, ranges=False), "it ignores ranges"),
        (Behaviour(CONTENT + b"x"), "the object has 10,241 bytes, the torrent's file 10,240"),
        (Behaviour(CONTENT, status=404), "there is no such object"),
        (Behaviour(CONTENT, status=503), "HTTP 503 .*try later"),
        (Behaviour(CONTENT, status=400), "check the URL and its signature"),
    ],
    ids=["ranges", "size", "404", "503", "400"],
)
def test_what_will_not_do_says_why_without_the_signature(behaviour: Behaviour, why: str) -> None:
    with web_server(behaviour) as url, pytest.raises(SwarmError, match=why) as caught:
        asked(web_seed(url + SECRET), len(CONTENT), None)
    assert "abc" not in str(caught.value)
    assert behaviour.requests == [f"/data.bin{SECRET}"]


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(SwarmError, match=r"web seed http://127\.0\.0\.1:1/x: the connection failed") as caught:
        asked(web_seed("http://127.0.0.1:1/x"), 10, None)
    assert "\n" not in str(caught.value)


def test_an_unsigned_url_is_what_is_forbidden() -> None:
    seed = web_seed(f"https://host/bucket/key{SECRET}")
    assert seed.url().endswith(SECRET)
    assert unsigned(seed).url() == "https://host/bucket/key"


@pytest.mark.parametrize(
    "text",
    [
        "ftp://host/x",
        "host/x",
        "https://",
        "https://host",
        "https://host/folder/",
        "s3://bucket",
        "https://me:pw@host/x",
    ],
)
def test_what_is_no_url_of_an_object_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        web_seed(text)
    assert "pw" not in str(caught.value)


def test_s3_is_signed_and_shown_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    seed = web_seed("s3://bucket/a/key", "https://store.test:8443", "us-east-1")
    assert "X-Amz-Signature=" in seed.url()
    assert seed.shown == "https://store.test:8443/bucket/a/key"


def test_s3_without_credentials_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(SwarmError, match="cannot be signed"):
        web_seed("s3://bucket/key", None, "us-east-1")


def test_secrets_are_cut_off() -> None:
    assert without_secrets(f"https://me:pw@host:1/x{SECRET}#f") == "https://host:1/x"

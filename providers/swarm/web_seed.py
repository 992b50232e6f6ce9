"""The object that is the web seed: its URL, signed where it must be, and whether it will do.

A signed URL is a secret as long as it is valid: only `url` has it, and whatever is written or shown is `shown`.
"""

from __future__ import annotations

import http.client
import re
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from vmtrace.providers.errors import UsageError, transport_error
from vmtrace.providers.recording import port_of
from vmtrace.providers.swarm.errors import SwarmError, one_line

PUBLIC, FORBIDDEN, NONE = "public", "forbidden", "none"
_TIMEOUT_S = 20.0
_SIGNED_FOR_S = 12 * 3600
_RANGE = re.compile(r"bytes 0-0/(\d+)")


@dataclass(frozen=True, slots=True)
class WebSeed:
    """An object of a store: `url` gives a URL that is valid now."""

    url: Callable[[], str]
    shown: str


@dataclass(frozen=True, slots=True)
class Access:
    """How the store answered a request for the object's first byte."""

    status: int
    access: str
    """`public` or `forbidden`."""
    server: str | None


def web_seed(text: str, endpoint_url: str | None = None, region: str | None = None) -> WebSeed:
    """A web seed out of what the user wrote: an http(s) URL, or s3://BUCKET/KEY, which is signed for each download.

    Raises `UsageError`.
    """
    parts = urlsplit(text)
    if parts.scheme == "s3":
        return _signed(parts.netloc, parts.path.lstrip("/"), endpoint_url, region)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{without_secrets(text)}: expected a URL with http://, https:// or s3://")
    if parts.username or parts.password:
        raise UsageError(f"{without_secrets(text)}: leave credentials out of the URL: give a signed one, or s3://")
    if parts.path.endswith("/") or not parts.path:
        raise UsageError(f"{without_secrets(text)}: the URL must name the object, not a folder")
    port_of(text)
    return WebSeed(lambda: text, without_secrets(text))


def without_secrets(url: str) -> str:
    """A URL without its query (the signature) and without credentials."""
    parts = urlsplit(url)
    return one_line(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", "")))


def unsigned(seed: WebSeed) -> WebSeed:
    """The same object asked for without a signature: forbidden, where the object is private."""
    return WebSeed(lambda: seed.shown, seed.shown)


def asked(seed: WebSeed, size_bytes: int, ca_bundle: Path | None) -> Access:
    """Ask for the object's first byte; raises `SwarmError` where the object is no web seed for a file of this size."""
    request = urllib.request.Request(seed.url(), headers={"Range": "bytes=0-0", "User-Agent": "vmtrace"})
    try:
        trust = ssl.create_default_context(cafile=None if ca_bundle is None else str(ca_bundle))
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=trust) as response:
            return _accepted(seed, response, size_bytes)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in {401, 403}:
                return Access(error.code, FORBIDDEN, error.headers.get("Server"))
            raise SwarmError(
                f"web seed {seed.shown}: HTTP {error.code} {one_line(error.reason)}{_hint(error.code)}"
            ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        found = transport_error(error)
        why = found.shown("") if found is not None else f": {one_line(str(error))}"
        raise SwarmError(f"web seed {seed.shown}{why}") from None


def _accepted(seed: WebSeed, response: http.client.HTTPResponse, size_bytes: int) -> Access:
    server = response.headers.get("Server")
    if response.status != 206:
        raise SwarmError(
            f"web seed {seed.shown}: it ignores ranges (HTTP {response.status} for one byte): "
            "a web seed needs range requests, use an object store or another server"
        )
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None:
        raise SwarmError(f"web seed {seed.shown}: HTTP 206 without the object's size: not a server to be used")
    if int(found.group(1)) != size_bytes:
        raise SwarmError(
            f"web seed {seed.shown}: the object has {int(found.group(1)):,} bytes, the torrent's file {size_bytes:,}: "
            "name the object that the torrent was made of"
        )
    return Access(206, PUBLIC, None if server is None else one_line(server))


def _hint(status: int) -> str:
    if status == 404:
        return ": there is no such object"
    return ": try later" if status >= 500 else ": check the URL and its signature"


def _signed(bucket: str, key: str, endpoint_url: str | None, region: str | None) -> WebSeed:
    if not bucket or not key:
        raise UsageError("--web-seed s3://: expected s3://BUCKET/KEY")
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError:
        raise UsageError(f"--web-seed s3://: boto3 signs it: {sys.executable} -m pip install 'boto3>=1.36'") from None

    def url() -> str:
        # A server of one's own seldom has a name for each bucket.
        config = Config(signature_version="s3v4", s3={"addressing_style": "auto" if endpoint_url is None else "path"})
        try:
            client = boto3.Session().client("s3", endpoint_url=endpoint_url, region_name=region, config=config)
            place = {"Bucket": bucket, "Key": key}
            signed: str = client.generate_presigned_url("get_object", place, ExpiresIn=_SIGNED_FOR_S)
        except (BotoCoreError, ValueError) as error:
            raise SwarmError(f"web seed s3://{bucket}/{key} cannot be signed: {one_line(str(error))}") from None
        return signed

    return WebSeed(url, without_secrets(url()))

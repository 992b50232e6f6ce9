"""A store, opened with its own conventions for credentials, and its errors as one line each.

S3 asks boto3's chain where that is installed (profiles, SSO, roles), else the environment and the machine's role;
Google and Azure ask the environment and the machine. Requests are repeated by obstore; `reader` repeats cut bodies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from vmtrace.analyze.read.stores import PlaceError

_MOST_RETRIES = 8
_RETRIED_FOR_S = 120


class StoreError(OSError):
    """A store did not do what it was asked; the text names the object and says what to do."""


class ChangedError(StoreError):
    """An object is another one than was seen first: to ask again would not help."""


_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or a profile, or the VM's role)",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS (or use the VM's service account)",
    "az": "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or AZURE_STORAGE_CONNECTION_STRING (or the VM's identity)",
}

NO_BUCKET, NO_OBJECT = "no such bucket", "no such object"
"""What `FileNotFoundError` has for its reason."""


@lru_cache(maxsize=64)
def opened(root: str, endpoint_url: str | None = None) -> Any:
    """The client of a store. Raises `StoreError` if it cannot be made; nothing is asked of the store yet."""
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    scheme = root.partition("://")[0]
    if scheme.startswith("http") and endpoint_url:
        raise PlaceError(f"{root}: --endpoint-url is for s3, gs and az; a web server is named by its URL")
    plain = root.startswith("http://") or (endpoint_url or _environment_endpoint(scheme) or "").startswith("http://")
    client: dict[str, Any] = {"allow_http": plain, "timeout": "120s", "connect_timeout": "10s"}
    options: dict[str, Any] = {
        "client_options": client | _trust(scheme),
        "retry_config": {
            "max_retries": _MOST_RETRIES,
            "retry_timeout": timedelta(seconds=_RETRIED_FOR_S),
            "backoff": {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=10), "base": 2},
        },
    }
    if scheme == "s3":
        options |= _s3_options(endpoint_url)
    elif scheme == "az":
        options |= _azure_options() | ({} if endpoint_url is None else {"endpoint": endpoint_url})
    elif scheme == "gs" and (endpoint := endpoint_url or _environment_endpoint("gs")):
        options["base_url"] = endpoint
        if endpoint_url is None:
            # As with Google's own clients, an emulator is asked with a token that is worth nothing.
            options["credential_provider"] = lambda: {"token": "emulator", "expires_at": None}
    try:
        return from_url(root, **options)
    except (BaseError, ValueError) as error:
        raise StoreError(f"{root}: {_first_line(error)}") from None


def _environment_endpoint(scheme: str) -> str | None:
    import os

    names = {
        "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
        "gs": ("STORAGE_EMULATOR_HOST",),
        "az": ("AZURE_STORAGE_ENDPOINT",),
    }
    return next((os.environ[name] for name in names.get(scheme, ()) if os.environ.get(name)), None)


def _s3_options(endpoint_url: str | None) -> dict[str, Any]:
    import os

    endpoint = endpoint_url or _environment_endpoint("s3")
    options: dict[str, Any] = {} if endpoint is None else {"endpoint": endpoint, "virtual_hosted_style_request": False}
    if "AWS_ACCESS_KEY_ID" in os.environ:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        return options | ({} if region is None else {"region": region})
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError:
        return options
    session = boto3.Session()
    if session.get_credentials() is not None:
        options["credential_provider"] = Boto3CredentialProvider(session)
    if session.region_name:
        options["region"] = session.region_name
    return options


def _azure_options() -> dict[str, Any]:
    """What Azure's own tools read beside what the client reads: account and key, or a connection string."""
    import os

    text = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    found = {
        "account_name": os.environ.get("AZURE_STORAGE_ACCOUNT") or parts.get("AccountName"),
        "account_key": os.environ.get("AZURE_STORAGE_KEY") or parts.get("AccountKey"),
        "sas_key": parts.get("SharedAccessSignature"),
        "endpoint": parts.get("BlobEndpoint"),
    }
    return {name: value for name, value in found.items() if value}


def _trust(scheme: str) -> dict[str, Any]:
    """A certificate authority of one's own, where the store's tools are given one."""
    import os

    names = {"s3": ("AWS_CA_BUNDLE", "SSL_CERT_FILE")}.get(scheme, ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"))
    path = next((os.environ[name] for name in names if os.environ.get(name)), None)
    try:
        return {} if path is None else {"root_certificate": Path(path).read_bytes()}
    except OSError as error:
        raise StoreError(f"{path}: certificates cannot be read: {error.strerror or error}") from None


def changed(url: str) -> ChangedError:
    """The error for an object that has changed. Not made by its class, since workers send errors as their texts."""
    return ChangedError(f"{url}: it was changed while it was read: analyse a copy of it, or read it again")


@contextmanager
def errors_of(url: str) -> Iterator[None]:
    """Turn the client's exceptions into `StoreError`, `FileNotFoundError` and `PermissionError` of one line each."""
    import errno

    from obstore import exceptions

    try:
        yield
    except (exceptions.NotFoundError, FileNotFoundError) as error:
        raise FileNotFoundError(errno.ENOENT, _what_is_missing(str(error)), url) from None
    except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
        raise PermissionError(errno.EACCES, _explained(f"403 forbidden {error}", url), url) from None
    except exceptions.PreconditionError:
        raise changed(url) from None
    except exceptions.BaseError as error:
        raise StoreError(f"{url}: {_explained(str(error), url)}") from None


def _what_is_missing(text: str) -> str:
    return NO_BUCKET if "NoSuchBucket" in text else NO_OBJECT


def _explained(text: str, url: str) -> str:
    """The line of a client's error that says most, and what to do where that is known."""
    low = text.lower()
    # Without any credentials the machine's own service is asked for those of its role.
    if "169.254." in text or "latest/api/token" in low or "missing credential" in low or "no credentials" in low:
        return f"no credentials: set {_CREDENTIALS.get(url.partition('://')[0], _CREDENTIALS['s3'])}"
    if "403 forbidden" in low or "401 unauthorized" in low:
        return "access denied: check the credentials, and that they may read and list this bucket"
    if "redirect" in low or "permanentredirect" in low or "authorizationheadermalformed" in low or "301" in low:
        return "the bucket is in another region: set AWS_REGION to its region"
    if "nosuchbucket" in low:
        return NO_BUCKET
    if "connect" in low or "dns" in low:
        return "cannot connect to the store: check the endpoint and the network"
    return _first_line(text)


def _first_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:300]

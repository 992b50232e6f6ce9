"""OpenStack Swift (once Rackspace Cloud Files) by python-swiftclient: `Connection.put_object` and `get_object`.

The ETag of an object is its MD5. Credentials are those of the `swift` command: ST_AUTH, ST_USER and ST_KEY, or OS_*.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vmtrace.providers.errors import ErrorKind, ServiceError, transport_error
from vmtrace.providers.options import whole_number
from vmtrace.providers.service import LocalFile, Sdk, Service, Sink, Stored, Target

EXTRA = "swift"
OPTIONS = {
    "retries": "of each request (default: the SDK's, 5)",
    "timeout": "seconds without a response (default: 60)",
}
ONE_STREAM = {"retries": "5"}
_READ_BYTES = 65_536  # what the `swift` command reads at once
_TIMEOUT_S = 60
_KINDS = {
    401: ErrorKind.CREDENTIALS,
    403: ErrorKind.ACCESS_DENIED,
    404: ErrorKind.NO_SUCH_OBJECT,
    409: ErrorKind.CONTAINER_NOT_EMPTY,
    413: ErrorKind.QUOTA,
    422: ErrorKind.DIGEST,
    429: ErrorKind.THROTTLED,
    498: ErrorKind.THROTTLED,
    507: ErrorKind.QUOTA,
}
_FIRST_VERSION = frozenset({"1", "1.0"})
# What the SDK quotes of an answer that is a page for a browser, cut off where it begins to say something.
_PAGE = re.compile(r""" ?(\[first \d+ chars of response\] )?b(['"])<.*?\2(?= \(txn|$)""")
_LOGIN_REMEDY = (
    "check ST_AUTH, ST_USER and ST_KEY; or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME and the names of "
    "both domains"
)
_PROJECT_REMEDY = "set OS_PROJECT_NAME or OS_PROJECT_ID"
# What the SDK says of a login without the status of an answer, in small letters: the first that fits.
_LOGINS: tuple[tuple[str, ErrorKind, str | None], ...] = (
    ("have you specified a region", ErrorKind.UNSUPPORTED, "name a region that has it with --region (OS_REGION_NAME)"),
    ("unknown auth_version", ErrorKind.UNSUPPORTED, "set OS_IDENTITY_API_VERSION to 3 or 2, ST_AUTH_VERSION to 1.0"),
    ("ca certificate bundle", ErrorKind.TLS_VERIFICATION, None),
    ("no project name", ErrorKind.CREDENTIALS, _PROJECT_REMEDY),
    ("no tenant specified", ErrorKind.CREDENTIALS, _PROJECT_REMEDY),
    (
        "application credential",
        ErrorKind.CREDENTIALS,
        "check OS_APPLICATION_CREDENTIAL_ID and OS_APPLICATION_CREDENTIAL_SECRET",
    ),
    (
        "authorization failed: ",
        ErrorKind.UNSUPPORTED,
        "check OS_AUTH_URL (https://HOST:5000/v3), OS_IDENTITY_API_VERSION and OS_USERNAME",
    ),
    ("auth", ErrorKind.CREDENTIALS, _LOGIN_REMEDY),
    ("user", ErrorKind.CREDENTIALS, _LOGIN_REMEDY),
)

_UNKNOWN: tuple[ErrorKind, str | None] = (ErrorKind.OTHER, None)


def build(target: Target) -> Service:
    """A connection; nothing is said before `login`."""
    return Swift(target)


class Swift:
    """One `swiftclient.Connection`."""

    def __init__(self, target: Target) -> None:
        import swiftclient
        from swiftclient.version import version_string

        retries = whole_number(target.options, "retries", 0, 100) if "retries" in target.options else 5
        timeout_s = whole_number(target.options, "timeout", 1, 3600) if "timeout" in target.options else _TIMEOUT_S
        self._container = target.container
        self._connection: Any = swiftclient.Connection(
            **_connection_settings(target), retries=retries, timeout=timeout_s
        )
        self._auth_url = str(self._connection.authurl or "")
        self.archives = False
        self.lists_at_once = True
        self.part_bytes: int | None = None
        self.sdk = Sdk(
            "python-swiftclient",
            str(version_string),
            {
                "retries": retries,
                "timeout_s": timeout_s,
                "auth_version": str(self._connection.auth_version),
                "read_bytes": _READ_BYTES,
            },
        )
        self._region = target.region or self._connection.os_options.get("region_name") or None

    @property
    def endpoint(self) -> str:
        """The storage URL, once the authentication service has told it; before that, the latter's."""
        return str(self._connection.url or self._auth_url)

    @property
    def region(self) -> str | None:
        """As told: Swift itself knows of none."""
        return self._region

    def login(self) -> None:
        """A token from the authentication service, then a look at the container."""
        self._authenticate()
        self._connection.head_container(self._container)

    def create_container(self) -> None:
        """PUT would also take one that is there."""
        from swiftclient.exceptions import ClientException

        self._authenticate()
        try:
            self._connection.head_container(self._container)
        except ClientException as error:
            if error.http_status != 404:
                raise
            self._connection.put_container(self._container)
            return
        raise ServiceError(ErrorKind.NAME_CLASH, f"container {self._container} is there already")

    def remove_container(self) -> None:
        """Remove the container."""
        from swiftclient.exceptions import ClientException

        try:
            self._connection.delete_container(self._container)
        except ClientException as error:
            if error.http_status != 404:
                raise

    def upload(self, name: str, file: LocalFile) -> Stored:
        """One PUT; the SDK repeats it from the beginning of the file."""
        with file.path.open("rb") as content:
            etag = self._connection.put_object(self._container, name, content, content_length=file.size_bytes)
        digest = str(etag or "").strip('"').lower() or None
        return Stored(name, digest, None if digest is None else digest == file.md5)

    def request_restore(self, reference: str) -> None:
        """There is no archive."""

    def is_restored(self, reference: str) -> bool:  # noqa: ARG002 - see above
        """Always."""
        return True

    def download(self, reference: str, sink: Sink) -> int:
        """One GET; where the body breaks off, the SDK asks for the rest."""
        _, body = self._connection.get_object(self._container, reference, resp_chunk_size=_READ_BYTES)
        attempts_before = int(self._connection.attempts)
        for block in body:
            sink.write(block)
        return int(self._connection.attempts) - attempts_before

    def delete(self, references: Sequence[str]) -> None:
        """One by one, over the same connection."""
        from swiftclient.exceptions import ClientException

        for reference in references:
            try:
                self._connection.delete_object(self._container, reference)
            except ClientException as error:
                if error.http_status != 404:
                    raise

    def own_objects(self, prefix: str) -> Iterator[str]:
        """All pages."""
        _, found = self._connection.get_container(self._container, prefix=prefix, full_listing=True)
        for one in found:
            yield str(one["name"])

    def abandon_uploads(self, prefix: str) -> None:
        """Swift keeps nothing of a PUT that was not finished."""

    def close(self) -> None:
        """Close the session, and the connections that it leaves open.

        With urllib3 2 a session lets go of its connections, and they end when nobody holds them. The SDK's answers do,
        in cycles, until the garbage collector comes: in the midst of what is measured next.
        """
        self._connection.close()
        gc.collect()

    def _authenticate(self) -> None:
        if not self._connection.authurl and not self._connection.url:
            raise ServiceError(
                ErrorKind.CREDENTIALS,
                "no authentication URL: neither ST_AUTH nor OS_AUTH_URL is set",
                "set ST_AUTH, ST_USER and ST_KEY (or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and so on)",
            )
        if self._connection.token is not None:
            return
        # Of these the SDK makes a header, whatever they are.
        if self._connection.auth_version in _FIRST_VERSION and not (self._connection.user and self._connection.key):
            raise ServiceError(ErrorKind.CREDENTIALS, "no user or key: ST_USER or ST_KEY is not set", _LOGIN_REMEDY)
        self._connection.get_auth()


def error_of(error: Exception) -> ServiceError:
    """By the status of the answer, or by what the transport says."""
    from swiftclient.exceptions import ClientException

    if isinstance(error, ServiceError):
        return error
    found = transport_error(error)
    if found is not None:
        return found
    text = _PAGE.sub("", " ".join(str(error).split())).rstrip(".") or type(error).__name__
    if not isinstance(error, ClientException):
        return ServiceError(ErrorKind.OTHER, text)
    if error.http_status is None:
        kind, remedy = next(((kind, shown) for words, kind, shown in _LOGINS if words in text.lower()), _UNKNOWN)
        return ServiceError(kind, text, remedy)
    kind = _kind_of(error)
    return ServiceError(kind, text, _LOGIN_REMEDY if kind == ErrorKind.CREDENTIALS else None)


def _kind_of(error: Any) -> ErrorKind:
    status = error.http_status
    if status == 404 and not getattr(error, "http_path", "").strip("/").count("/") >= 3:
        return ErrorKind.NO_SUCH_CONTAINER
    return _KINDS.get(status) or (ErrorKind.SERVICE if status >= 500 else ErrorKind.OTHER)


def _connection_settings(target: Target) -> dict[str, Any]:
    """As the `swift` command reads the environment; its own function keeps what was set when it was imported."""
    from os import environ

    ca_bundle = None if target.ca_bundle is None else str(target.ca_bundle)
    options = _openstack_options(environ)
    if target.region:
        options["region_name"] = target.region
    st_auth = environ.get("ST_AUTH")
    if st_auth or (target.endpoint_url and not environ.get("OS_AUTH_URL")):
        return {
            "authurl": target.endpoint_url or st_auth,
            "user": environ.get("ST_USER"),
            "key": environ.get("ST_KEY"),
            "auth_version": environ.get("ST_AUTH_VERSION", "1.0"),
            "cacert": ca_bundle or environ.get("OS_CACERT"),
        }
    auth_version = environ.get("OS_AUTH_VERSION") or environ.get("OS_IDENTITY_API_VERSION") or "3"
    tenant = environ.get("OS_TENANT_NAME")  # what version 2 called a project; version 3 finds that among the options
    return {
        "authurl": target.endpoint_url or environ.get("OS_AUTH_URL"),
        "user": environ.get("OS_USERNAME"),
        "key": environ.get("OS_PASSWORD"),
        "tenant_name": tenant or (environ.get("OS_PROJECT_NAME") if auth_version.startswith("2") else None),
        "auth_version": auth_version,
        "os_options": options,
        "cacert": ca_bundle or environ.get("OS_CACERT"),
    }


def _openstack_options(environ: Mapping[str, str]) -> dict[str, str]:
    """The names of `os_options` are those of the variables, without OS_ and in small letters."""
    names = (
        "USER_ID", "USER_DOMAIN_NAME", "USER_DOMAIN_ID", "PROJECT_NAME", "PROJECT_ID", "PROJECT_DOMAIN_NAME",
        "PROJECT_DOMAIN_ID", "TENANT_ID", "TENANT_NAME", "SERVICE_TYPE", "ENDPOINT_TYPE", "REGION_NAME", "AUTH_TOKEN",
        "AUTH_TYPE", "APPLICATION_CREDENTIAL_ID", "APPLICATION_CREDENTIAL_SECRET",
    )  # fmt: skip
    found = {name.lower(): environ[f"OS_{name}"] for name in names if environ.get(f"OS_{name}")}
    if environ.get("OS_STORAGE_URL"):
        found["object_storage_url"] = environ["OS_STORAGE_URL"]
    return found

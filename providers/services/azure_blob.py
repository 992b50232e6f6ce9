"""Azure Blob storage by azure-storage-blob: `upload_blob` and `download_blob` as they are.

Credentials are those of the Azure command line: AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with
AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN; else what azure-identity finds, where that is installed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.providers.errors import ErrorKind, ServiceError, transport_error
from vmtrace.providers.options import choice, whole_number
from vmtrace.providers.service import LocalFile, Sdk, Service, Sink, Stored, Target

if TYPE_CHECKING:
    from azure.storage.blob import BlobServiceClient

EXTRA = "azure"
OPTIONS = {
    "tier": "Hot, Cool, Cold or Archive (default: the account's)",
    "concurrency": "blocks at the same time (default: the SDK's, 1)",
    "retry_total": "retries of each request (default: the SDK's, 3)",
    "initial_backoff": "seconds before the first retry (default: the SDK's, 15)",
    "max_single_put_size": "bytes up to which a blob is put at once (default: the SDK's, 67108864)",
    "max_block_size": "bytes of a block of larger blobs (default: the SDK's, 4194304)",
}
ONE_STREAM = {"max_single_put_size": str(5_000 << 20), "concurrency": "1", "retry_total": "5"}
_TIERS = ("Hot", "Cool", "Cold", "Archive")
_KINDS: Mapping[str, ErrorKind] = {
    "AuthenticationFailed": ErrorKind.CREDENTIALS,
    "InvalidAuthenticationInfo": ErrorKind.CREDENTIALS,
    "NoAuthenticationInformation": ErrorKind.CREDENTIALS,
    "AuthorizationFailure": ErrorKind.ACCESS_DENIED,
    "AuthorizationPermissionMismatch": ErrorKind.ACCESS_DENIED,
    "InsufficientAccountPermissions": ErrorKind.ACCESS_DENIED,
    "AccountIsDisabled": ErrorKind.ACCESS_DENIED,
    "ContainerNotFound": ErrorKind.NO_SUCH_CONTAINER,
    "ContainerAlreadyExists": ErrorKind.NAME_CLASH,
    "ContainerBeingDeleted": ErrorKind.NAME_CLASH,
    "BlobNotFound": ErrorKind.NO_SUCH_OBJECT,
    "BlobArchived": ErrorKind.NOT_RESTORED,
    "BlobBeingRehydrated": ErrorKind.NOT_RESTORED,
    "Md5Mismatch": ErrorKind.DIGEST,
    "ServerBusy": ErrorKind.THROTTLED,
    "OperationTimedOut": ErrorKind.SERVICE,
    "InsufficientStorage": ErrorKind.QUOTA,
    "InvalidResourceName": ErrorKind.UNSUPPORTED,
    "OutOfRangeInput": ErrorKind.UNSUPPORTED,
    "UnsupportedHeader": ErrorKind.UNSUPPORTED,
    "InvalidHeaderValue": ErrorKind.UNSUPPORTED,
}
_NAME_REMEDY = "give another name with --bucket (3 to 63 small letters, digits and single hyphens)"
_REMEDIES: Mapping[str, str] = {"InvalidResourceName": _NAME_REMEDY, "OutOfRangeInput": _NAME_REMEDY}
_BY_STATUS = {
    401: ErrorKind.CREDENTIALS,
    403: ErrorKind.ACCESS_DENIED,
    404: ErrorKind.NO_SUCH_CONTAINER,
    429: ErrorKind.THROTTLED,
    503: ErrorKind.THROTTLED,
    507: ErrorKind.QUOTA,
}


def build(target: Target) -> Service:
    """A client of its own pipeline."""
    log = logging.getLogger("azure")
    if not log.handlers:
        log.addHandler(logging.NullHandler())  # else its warnings on retries are printed between our own lines
    return AzureBlob(target)


class AzureBlob:
    """One `BlobServiceClient`, and what it gives for the container."""

    def __init__(self, target: Target) -> None:
        import azure.storage.blob

        options = target.options
        settings: dict[str, Any] = {
            name: whole_number(options, name, least, most)
            for name, least, most in (
                ("retry_total", 0, 100),
                ("initial_backoff", 0, 600),
                ("max_single_put_size", 1, 5_000 << 20),
                ("max_block_size", 1, 4_000 << 20),
            )
            if name in options
        }
        if "initial_backoff" in settings:
            settings["increment_base"] = min(3, settings["initial_backoff"])
        self._account = _account(target, settings)
        self._container = self._account.get_container_client(target.container)
        self._concurrency = whole_number(options, "concurrency", 1, 1000) if "concurrency" in options else None
        self._tier = choice(options, "tier", _TIERS) if "tier" in options else None
        self._region = target.region
        self.archives = self._tier == "Archive"
        self.lists_at_once = True
        self.part_bytes: int | None = None
        config: Any = self._account._config  # noqa: SLF001 - the only place where the SDK keeps its defaults
        self._put_at_once_bytes = int(config.max_single_put_size)
        self.sdk = Sdk(
            "azure-storage-blob",
            azure.storage.blob.__version__,
            {
                "max_single_put_size_bytes": config.max_single_put_size,
                "max_block_size_bytes": config.max_block_size,
                "max_single_get_size_bytes": config.max_single_get_size,
                "max_chunk_get_size_bytes": config.max_chunk_get_size,
                "max_concurrency": self._concurrency or 1,
                "retry_total": settings.get("retry_total", 3),
                "initial_backoff_s": settings.get("initial_backoff", 15),
                "api_version": self._account.api_version,
                "tier": self._tier,
            },
        )

    @property
    def endpoint(self) -> str:
        """URL of the account, without a token that may stand in it."""
        return str(self._account.url).partition("?")[0]

    @property
    def region(self) -> str | None:
        """As told: an account has one, but its SDK does not say which."""
        return self._region

    def login(self) -> None:
        """Properties of the container."""
        self._container.get_container_properties()

    def create_container(self) -> None:
        """Make the container."""
        self._container.create_container()

    def remove_container(self) -> None:
        """Remove the container, unless somebody put something else there: Azure would remove that, too."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            if next(iter(self._container.list_blob_names(results_per_page=1)), None) is not None:
                raise ServiceError(ErrorKind.CONTAINER_NOT_EMPTY, f"container {self._container.container_name}")
            self._container.delete_container()
        except ResourceNotFoundError:
            return

    def upload(self, name: str, file: LocalFile) -> Stored:
        """One Put Blob, or blocks for a large file; a blob of blocks has no digest by the service."""
        more: dict[str, Any] = {} if self._tier is None else {"standard_blob_tier": self._tier}
        if self._concurrency is not None:
            more["max_concurrency"] = self._concurrency
        with file.path.open("rb") as content:
            answer = self._container.get_blob_client(name).upload_blob(
                content, length=file.size_bytes, overwrite=True, **more
            )
        digest = answer.get("content_md5")
        # With blocks it is the digest of the last request, the list of blocks.
        if not digest or file.size_bytes > self._put_at_once_bytes:
            return Stored(name)
        return Stored(name, bytes(digest).hex(), bytes(digest).hex() == file.md5)

    def request_restore(self, reference: str) -> None:
        """A blob of the archive is brought back by giving it another tier."""
        if self._tier == "Archive":
            self._container.get_blob_client(reference).set_standard_blob_tier("Hot")

    def is_restored(self, reference: str) -> bool:
        """Whether it is out of the archive."""
        if self._tier != "Archive":
            return True
        return str(self._container.get_blob_client(reference).get_blob_properties().blob_tier) != "Archive"

    def download(self, reference: str, sink: Sink) -> int:
        """`download_blob`: one GET, and further ones for what is beyond its first 32 MiB."""
        more: dict[str, Any] = {} if self._concurrency is None else {"max_concurrency": self._concurrency}
        stream = self._container.get_blob_client(reference).download_blob(**more)
        if self._concurrency in {None, 1}:
            stream.readinto(sink)  # type: ignore[arg-type] # it only writes
        else:  # its parallel download seeks in what it writes
            for block in stream.chunks():
                sink.write(block)
        return 0

    def delete(self, references: Sequence[str]) -> None:
        """One by one, over the same connection."""
        from azure.core.exceptions import ResourceNotFoundError

        for reference in references:
            try:
                self._container.delete_blob(reference)
            except ResourceNotFoundError as error:
                if str(getattr(error, "error_code", "")) == "ContainerNotFound":
                    raise

    def own_objects(self, prefix: str) -> Iterator[str]:
        """All pages."""
        yield from self._container.list_blob_names(name_starts_with=prefix)

    def abandon_uploads(self, prefix: str) -> None:
        """Blocks that were not committed are removed by the service within a week and cannot be listed by prefix."""

    def close(self) -> None:
        """Close the pipelines."""
        self._container.close()
        self._account.close()


def parted_options(connections: int, part_bytes: int) -> Mapping[str, str]:
    """For `upload_blob` in blocks of that size over so many connections."""
    size = str(part_bytes)
    return {"concurrency": str(connections), "max_block_size": size, "max_single_put_size": size}


def error_of(error: Exception) -> ServiceError:
    """By the code of the answer, or by what the transport says."""
    from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError

    found = transport_error(error)
    if found is not None:
        return found
    text = " ".join(str(error).split("\n")[0].split()) or type(error).__name__
    if isinstance(error, HttpResponseError) and error.status_code is not None:
        return _answered(error, text)
    if isinstance(error, ClientAuthenticationError):
        return ServiceError(ErrorKind.CREDENTIALS, text)
    return ServiceError(ErrorKind.ENDPOINT_GONE if isinstance(error, AzureError) else ErrorKind.OTHER, text)


def _answered(error: Any, text: str) -> ServiceError:
    code = code_of(error)
    status = int(error.status_code)
    details = str(error)
    if "Signature not valid in the specified time frame" in details or "SAS has expired" in details:
        return ServiceError(ErrorKind.EXPIRED_TOKEN, text)
    # Azure refuses a date that is off by more than a quarter of an hour as if the signature were wrong.
    if code == "AuthenticationFailed" and "date header" in details.lower():
        return ServiceError(ErrorKind.CLOCK_SKEW, text)
    if code == "AuthorizationFailure" and "RequestTime" in details:
        return ServiceError(ErrorKind.CLOCK_SKEW, text)
    if code == "AuthorizationFailure" and "failed to authenticate" in details:  # so does Azurite refuse a wrong key
        return ServiceError(ErrorKind.CREDENTIALS, text)
    kind = _KINDS.get(code) or _BY_STATUS.get(status)
    if kind is None:
        kind = ErrorKind.SERVICE if status >= 500 else ErrorKind.OTHER
    return ServiceError(kind, f"{text} ({code})" if code and code not in text else text, _REMEDIES.get(code))


def code_of(error: Exception) -> str:
    """The service's own code of an error; empty without one."""
    raw = getattr(error, "error_code", None)
    return str(getattr(raw, "value", raw) or "")


def _account(target: Target, settings: dict[str, Any]) -> BlobServiceClient:
    from azure.storage.blob import BlobServiceClient

    made: BlobServiceClient = account_client(BlobServiceClient, "blob", target, settings)
    return made


def account_client(kind: Any, service: str, target: Target, settings: dict[str, Any]) -> Any:
    """A client of an account of Azure storage, for one of its services (`blob`, `queue`)."""
    if target.ca_bundle is not None:
        settings = {**settings, "connection_verify": str(target.ca_bundle)}
    shown = os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    try:
        if shown and target.endpoint_url is None:
            return kind.from_connection_string(shown, **settings)
        parts = dict(part.split("=", 1) for part in (shown or "").split(";") if "=" in part)
        name = parts.get("AccountName") or os.environ.get("AZURE_STORAGE_ACCOUNT")
        url = target.endpoint_url or (f"https://{name}.{service}.core.windows.net" if name else None)
        if url is None:
            raise _no_credentials("neither AZURE_STORAGE_CONNECTION_STRING nor AZURE_STORAGE_ACCOUNT is set")
        return kind(url, credential=_credential(name, parts), **settings)
    except ValueError as error:
        raise _no_credentials(" ".join(str(error).split())) from error


def _credential(account: str | None, parts: Mapping[str, str]) -> Any:
    key = parts.get("AccountKey") or os.environ.get("AZURE_STORAGE_KEY")
    token = parts.get("SharedAccessSignature") or os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    if key and account:
        return {"account_name": account, "account_key": key}
    if token:
        return token
    try:
        from azure.identity import DefaultAzureCredential
    except ModuleNotFoundError:
        raise _no_credentials("no key or token for the account, and azure-identity is not installed") from None
    return DefaultAzureCredential()


def _no_credentials(text: str) -> ServiceError:
    return ServiceError(
        ErrorKind.CREDENTIALS,
        text.rstrip("."),
        "set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY (or _SAS_TOKEN)",
    )

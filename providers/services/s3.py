"""Amazon S3, and whatever speaks its API, by boto3: `upload_file` and `download_fileobj` as they are.

The digest of an upload is the ETag: the MD5 of the object or, where it was sent in parts, the MD5 of the parts' MD5s,
a hyphen and their number. With encryption by SSE-KMS or SSE-C an ETag says nothing of the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from vmtrace.providers.errors import ErrorKind, ServiceError, chain, transport_error
from vmtrace.providers.options import choice, whole_number
from vmtrace.providers.service import LocalFile, Sdk, Service, Sink, Stored, Target

if TYPE_CHECKING:
    import boto3
    from boto3.s3.transfer import TransferConfig
    from mypy_boto3_s3 import S3Client


class FromStart:
    """Passes each byte of an object on once, in order: the SDK begins a broken download again from its first byte."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._passed = 0
        self._position = 0

    def begin(self) -> None:
        """The next bytes are the object's first."""
        self._position = 0

    def write(self, data: bytes) -> int:
        """Take the next bytes; those that went on before are dropped."""
        known = max(0, self._passed - self._position)
        self._position += len(data)
        if len(data) > known:
            self._sink.write(data[known:])
            self._passed = self._position
        return len(data)


EXTRA = "s3"
OPTIONS = {
    "storage_class": "storage class of the objects, as S3 names it (default: the bucket's)",
    "addressing_style": "auto, path or virtual (default: boto3's, auto)",
    "part_size": "bytes of a part, and the size from which on there are parts (default: boto3's, 8388608)",
    "concurrency": "parts at the same time (default: boto3's, 10)",
    "max_attempts": "of each request (default: boto3's)",
    "retry_mode": "legacy, standard or adaptive (default: boto3's)",
}
ONE_STREAM = {"part_size": str(5 << 30), "concurrency": "1", "max_attempts": "6"}
_MOST_CONNECTIONS = 1000
_LARGEST_BYTES = 5 << 30  # of one PUT; what is cut from there on is whole
_SDK_ATTEMPTS = 5
_SMALLEST_PART_BYTES = 5 << 20
_READ_BYTES = 1 << 18
_SDK_POOL = 10  # botocore's own number of connections that it keeps
_DELETED_AT_ONCE = 1000  # the most that DeleteObjects takes
_MAKES_ETAG_OPAQUE = frozenset({"aws:kms", "aws:kms:dsse"})

# By the code of an answer; those of HEAD and of other servers are statuses.
KINDS: Mapping[str, ErrorKind] = {
    "InvalidAccessKeyId": ErrorKind.CREDENTIALS,
    "SignatureDoesNotMatch": ErrorKind.CREDENTIALS,
    "UnrecognizedClientException": ErrorKind.CREDENTIALS,
    "InvalidClientTokenId": ErrorKind.CREDENTIALS,
    "AuthorizationHeaderMalformed": ErrorKind.CREDENTIALS,
    "MissingAuthenticationTokenException": ErrorKind.CREDENTIALS,
    "InvalidToken": ErrorKind.CREDENTIALS,
    "ExpiredToken": ErrorKind.EXPIRED_TOKEN,
    "ExpiredTokenException": ErrorKind.EXPIRED_TOKEN,
    "TokenRefreshRequired": ErrorKind.EXPIRED_TOKEN,
    "RequestExpired": ErrorKind.EXPIRED_TOKEN,
    "AccessDenied": ErrorKind.ACCESS_DENIED,
    "AccessDeniedException": ErrorKind.ACCESS_DENIED,
    "AllAccessDisabled": ErrorKind.ACCESS_DENIED,
    "403": ErrorKind.ACCESS_DENIED,
    "RequestTimeTooSkewed": ErrorKind.CLOCK_SKEW,
    "NoSuchBucket": ErrorKind.NO_SUCH_CONTAINER,
    "ResourceNotFoundException": ErrorKind.NO_SUCH_CONTAINER,
    "VaultNotFound": ErrorKind.NO_SUCH_CONTAINER,
    "BucketNotEmpty": ErrorKind.CONTAINER_NOT_EMPTY,
    "BucketAlreadyExists": ErrorKind.NAME_CLASH,
    "BucketAlreadyOwnedByYou": ErrorKind.NAME_CLASH,
    "NoSuchKey": ErrorKind.NO_SUCH_OBJECT,
    "404": ErrorKind.NO_SUCH_OBJECT,
    "InvalidObjectState": ErrorKind.NOT_RESTORED,
    "QuotaExceeded": ErrorKind.QUOTA,
    "InsufficientStorage": ErrorKind.QUOTA,
    "507": ErrorKind.QUOTA,
    "TooManyBuckets": ErrorKind.QUOTA,
    "LimitExceededException": ErrorKind.QUOTA,
    "EntityTooLarge": ErrorKind.QUOTA,
    "SlowDown": ErrorKind.THROTTLED,
    "Throttling": ErrorKind.THROTTLED,
    "ThrottlingException": ErrorKind.THROTTLED,
    "RequestLimitExceeded": ErrorKind.THROTTLED,
    "TooManyRequestsException": ErrorKind.THROTTLED,
    "429": ErrorKind.THROTTLED,
    "501": ErrorKind.UNSUPPORTED,
    "MethodNotAllowed": ErrorKind.UNSUPPORTED,
    "InvalidBucketName": ErrorKind.UNSUPPORTED,
    "InvalidLocationConstraint": ErrorKind.UNSUPPORTED,
    "IllegalLocationConstraintException": ErrorKind.UNSUPPORTED,
    "PermanentRedirect": ErrorKind.UNSUPPORTED,
    "BadDigest": ErrorKind.DIGEST,
    "InvalidDigest": ErrorKind.DIGEST,
}

_REGION_REMEDY = "name the region of the bucket with --region"
_REMEDIES: Mapping[str, str] = {
    "InvalidBucketName": "give another name with --bucket (3 to 63 small letters, digits and hyphens)",
    "InvalidLocationConstraint": _REGION_REMEDY,
    "IllegalLocationConstraintException": _REGION_REMEDY,
    "PermanentRedirect": _REGION_REMEDY,
    "AuthorizationHeaderMalformed": "check --region (S3 says which one it expected) and the credentials",
}


def build(target: Target) -> Service:
    """A client of its own session."""
    return S3(target)


class S3:
    """One boto3 client and the transfer settings for it."""

    def __init__(self, target: Target, extra: Mapping[str, str] | None = None) -> None:
        import boto3
        from boto3.s3.transfer import TransferConfig

        self._bucket = target.container
        self._transfer: TransferConfig = TransferConfig(**_transfer_settings(target.options))
        self._session = boto3.Session(region_name=target.region)
        self._client: S3Client = _s3_client(self._session, target)
        self._extra = dict(extra or {})
        if target.options.get("storage_class"):
            self._extra["StorageClass"] = target.options["storage_class"]
        self._answers: dict[str, Mapping[str, Any]] = {}
        for operation in ("PutObject", "CompleteMultipartUpload"):
            self._client.meta.events.register(f"after-call.s3.{operation}", self._keep_answer)
            self._client.meta.events.register(f"provide-client-params.s3.{operation}", self._keep_key)
        self._sink: FromStart | None = None
        self._whole = target.options.get("concurrency") == "1" and self._transfer.multipart_threshold >= _LARGEST_BYTES
        self._attempts = int(target.options.get("max_attempts", _SDK_ATTEMPTS))
        self._client.meta.events.register("provide-client-params.s3.GetObject", self._begin_whole)
        self.archives = False
        self.lists_at_once = True
        self.part_bytes: int | None = int(self._transfer.multipart_chunksize)
        self.sdk = Sdk("boto3", boto3.__version__, self._settings())

    @property
    def endpoint(self) -> str:
        """URL of the service; that of the bucket may have the bucket before it."""
        return str(self._client.meta.endpoint_url)

    @property
    def region(self) -> str | None:
        """Of the client."""
        return self._client.meta.region_name or None

    def login(self) -> None:
        """A list of at most one object: unlike HEAD, it is answered with the reason when refused."""
        self._client.list_objects_v2(Bucket=self._bucket, MaxKeys=1, Prefix="vmtrace-login/")

    def create_container(self) -> None:
        """Make the bucket, in the client's region."""
        if self._exists():
            raise ServiceError(ErrorKind.NAME_CLASH, f"bucket {self._bucket} is there already")
        region = self.region
        # us-east-1 is the one region that must not be named.
        if region in {None, "us-east-1", "aws-global"}:
            self._client.create_bucket(Bucket=self._bucket)
        else:
            where: Any = {"LocationConstraint": region}
            self._client.create_bucket(Bucket=self._bucket, CreateBucketConfiguration=where)

    def remove_container(self) -> None:
        """Remove the bucket."""
        from botocore.exceptions import ClientError

        try:
            self._client.delete_bucket(Bucket=self._bucket)
        except ClientError as error:
            if _code(error) not in {"NoSuchBucket", "404"}:
                raise

    def upload(self, name: str, file: LocalFile) -> Stored:
        """`upload_file`: one PUT, or parts side by side for a large file."""
        self._answers.clear()
        with _parts_as_asked_for(self._transfer.multipart_chunksize):
            self._client.upload_file(
                str(file.path), self._bucket, name, ExtraArgs=self._extra or None, Config=self._transfer
            )
        answer = next(iter(self._answers.values()), {})
        etag = str(answer.get("ETag", "")).strip('"').lower() or None
        return Stored(name, etag, None if etag is None else _etag_fits(etag, file, answer))

    def request_restore(self, reference: str) -> None:
        """S3's own classes are at hand; `glacier` is for the others."""

    def is_restored(self, reference: str) -> bool:  # noqa: ARG002 - see above
        """Always."""
        return True

    def download(self, reference: str, sink: Sink) -> int:
        """`download_fileobj`: a HEAD, then one GET or parts side by side; s3transfer puts them in order.

        But it does not when one GET breaks off: it writes the repetition behind what was there.
        """
        from botocore.exceptions import ClientError

        self._sink = FromStart(sink)
        if self._whole:
            return self._download_whole(reference, self._sink)
        try:
            self._client.download_fileobj(self._bucket, reference, self._sink, Config=self._transfer)  # type: ignore[arg-type]
        except ClientError as error:
            if _code(error) in {"400", "403"}:  # the HEAD was refused, whose answer has no room for the reason
                self.login()
            raise
        return 0

    def _download_whole(self, reference: str, sink: FromStart) -> int:
        """One GET without a HEAD before it, for what asks for one connection; one that breaks off is made again."""
        from botocore.exceptions import IncompleteReadError, ReadTimeoutError, ResponseStreamingError

        for attempts_left in reversed(range(self._attempts)):
            try:
                answer = self._client.get_object(Bucket=self._bucket, Key=reference)
                for block in answer["Body"].iter_chunks(_READ_BYTES):
                    sink.write(block)
                return 0
            except (IncompleteReadError, ReadTimeoutError, ResponseStreamingError):
                if not attempts_left:
                    raise
        return 0

    def delete(self, references: Sequence[str]) -> None:
        """Up to a thousand with each request."""
        for start in range(0, len(references), _DELETED_AT_ONCE):
            some = references[start : start + _DELETED_AT_ONCE]
            objects: Any = {"Objects": [{"Key": key} for key in some], "Quiet": True}
            answer = self._client.delete_objects(Bucket=self._bucket, Delete=objects)
            for error in answer.get("Errors", []):
                if error.get("Code") not in {"NoSuchKey", "404"}:
                    kind = KINDS.get(error.get("Code", ""), ErrorKind.OTHER)
                    raise ServiceError(kind, f"{error.get('Key')} cannot be removed: {error.get('Message')}")

    def own_objects(self, prefix: str) -> Iterator[str]:
        """Page by page."""
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix):
            for one in page.get("Contents", []):
                yield one["Key"]

    def abandon_uploads(self, prefix: str) -> None:
        """Parts of uploads that were not completed are stored, and charged for, until somebody aborts them."""
        answer = self._client.list_multipart_uploads(Bucket=self._bucket, Prefix=prefix)
        for one in answer.get("Uploads", []):
            self._client.abort_multipart_upload(Bucket=self._bucket, Key=one["Key"], UploadId=one["UploadId"])

    def close(self) -> None:
        """Close the pool of connections."""
        self._client.close()

    def _exists(self) -> bool:
        """Asked as `login` does: a HEAD that is refused would not tell a clock that is wrong from somebody's bucket."""
        from botocore.exceptions import ClientError

        try:
            self.login()
        except ClientError as error:
            if _code(error) in {"404", "NoSuchBucket"}:
                return False
            if _code(error) in {"403", "301", "AccessDenied", "PermanentRedirect"}:  # of somebody else, or elsewhere
                return True
            raise
        return True

    def _keep_key(self, params: Mapping[str, Any], context: dict[str, Any], **_more: Any) -> None:
        context["vmtrace_key"] = params.get("Key")

    def _begin_whole(self, params: Mapping[str, Any], **_more: Any) -> None:
        if self._sink and "Range" not in params:
            self._sink.begin()

    def _keep_answer(self, parsed: Mapping[str, Any], context: Mapping[str, Any], **_more: Any) -> None:
        self._answers[str(context.get("vmtrace_key"))] = parsed

    def _settings(self) -> dict[str, object]:
        config: Any = self._client.meta.config
        transfer = self._transfer
        return {
            "multipart_threshold_bytes": transfer.multipart_threshold,
            "multipart_chunksize_bytes": transfer.multipart_chunksize,
            "max_concurrency": transfer.max_request_concurrency,
            "retries": config.retries,
            "addressing_style": (config.s3 or {}).get("addressing_style", "auto"),
            "request_checksum_calculation": config.request_checksum_calculation,
            "response_checksum_validation": config.response_checksum_validation,
            "storage_class": self._extra.get("StorageClass"),
        }


def boto_config(options: Mapping[str, str]) -> Any:
    """What of botocore the options change."""
    from botocore.config import Config

    settings: dict[str, Any] = {}
    connections = _concurrency(options)
    if connections is not None and connections > _SDK_POOL:  # else those beyond are closed after each request
        settings["max_pool_connections"] = connections
    retries: dict[str, Any] = {}
    if "max_attempts" in options:
        retries["total_max_attempts"] = whole_number(options, "max_attempts", 1, 100)
    if "retry_mode" in options:
        retries["mode"] = choice(options, "retry_mode", ("legacy", "standard", "adaptive"))
    if retries:
        settings["retries"] = retries
    if "addressing_style" in options:
        settings["s3"] = {"addressing_style": choice(options, "addressing_style", ("auto", "path", "virtual"))}
    return Config(**settings)


def error_of(error: Exception) -> ServiceError:
    """What an exception of boto3, botocore or s3transfer means, whatever else is wrapped around it."""
    from botocore import exceptions

    found = list(chain(error))
    for one in found:
        if isinstance(one, ServiceError):
            return one
    for one in found:
        if isinstance(one, exceptions.ClientError):
            return _answered(one)
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, exceptions.NoCredentialsError | exceptions.PartialCredentialsError):
        return ServiceError(ErrorKind.CREDENTIALS, text.rstrip("."))
    if isinstance(error, exceptions.ProfileNotFound | exceptions.CredentialRetrievalError):
        return ServiceError(ErrorKind.CREDENTIALS, text)
    if isinstance(error, exceptions.TokenRetrievalError | exceptions.SSOError):
        return ServiceError(ErrorKind.EXPIRED_TOKEN, text)
    if isinstance(error, exceptions.NoRegionError):
        return ServiceError(ErrorKind.UNSUPPORTED, text, "give --region")
    transport = transport_error(error)
    if transport is not None:
        return transport
    if isinstance(error, exceptions.SSLError) and any(isinstance(one, FileNotFoundError) for one in found):
        shown = "AWS_CA_BUNDLE, REQUESTS_CA_BUNDLE or the profile's ca_bundle names a file that is not there"
        return ServiceError(ErrorKind.TLS_VERIFICATION, shown)
    if any(isinstance(one, exceptions.ConnectionError | exceptions.HTTPClientError) for one in found):
        return ServiceError(ErrorKind.ENDPOINT_GONE, text)
    return ServiceError(ErrorKind.OTHER, text)


def _answered(error: Any) -> ServiceError:
    code = _code(error)
    details = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    text = f"{details.get('Message') or code} ({code})"
    kind = KINDS.get(code) or KINDS.get(str(status))
    if kind is None:
        kind = ErrorKind.SERVICE if status >= 500 else ErrorKind.OTHER
    return ServiceError(kind, text, _REMEDIES.get(code))


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _s3_client(session: boto3.Session, target: Target) -> S3Client:
    verify = None if target.ca_bundle is None else str(target.ca_bundle)
    return session.client("s3", endpoint_url=target.endpoint_url, verify=verify, config=boto_config(target.options))


def _transfer_settings(options: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if "part_size" in options:
        part_bytes = whole_number(options, "part_size", 1, 5 << 30)  # what is too small the service refuses
        settings.update(multipart_chunksize=part_bytes, multipart_threshold=part_bytes)
    connections = _concurrency(options)
    if connections is not None:
        settings.update(max_concurrency=connections, use_threads=connections > 1)
    return settings


def _concurrency(options: Mapping[str, str]) -> int | None:
    return whole_number(options, "concurrency", 1, _MOST_CONNECTIONS) if "concurrency" in options else None


@contextmanager
def _parts_as_asked_for(part_bytes: int) -> Iterator[None]:
    """s3transfer enlarges parts below 5 MiB without a word: here the service is to say what it thinks of them."""
    from s3transfer import upload, utils

    if part_bytes >= _SMALLEST_PART_BYTES:
        yield
        return
    upload.ChunksizeAdjuster = partial(utils.ChunksizeAdjuster, min_size=1)  # type: ignore[misc,assignment]
    try:
        yield
    finally:
        upload.ChunksizeAdjuster = utils.ChunksizeAdjuster  # type: ignore[misc]


def parted_options(connections: int, part_bytes: int) -> Mapping[str, str]:
    """For `upload_file` in parts of that size over so many connections."""
    return {"concurrency": str(connections), "part_size": str(part_bytes)}


def _etag_fits(etag: str, file: LocalFile, answer: Mapping[str, Any]) -> bool | None:
    if answer.get("ServerSideEncryption") in _MAKES_ETAG_OPAQUE or answer.get("SSECustomerAlgorithm"):
        return None
    if "-" not in etag:
        return etag == file.md5
    joined = hashlib.md5(b"".join(map(bytes.fromhex, file.part_md5s)), usedforsecurity=False)
    return etag == f"{joined.hexdigest()}-{len(file.part_md5s)}"

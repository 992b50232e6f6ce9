"""S3 Glacier by boto3: archive storage classes of S3 with restore, or (`--option api=vault`) the older API of vaults.

A vault names an archive itself; what we call it goes into its description. Its digest is a SHA-256 tree hash, which
botocore computes and sends with each archive: the service refuses what does not fit, and answers with its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.options import choice, whole_number
from vmtrace.providers.service import LocalFile, Sdk, Service, Sink, Stored, Target
from vmtrace.providers.services import s3

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_glacier import GlacierClient

EXTRA = "glacier"
_ARCHIVE_CLASSES = ("GLACIER", "DEEP_ARCHIVE", "GLACIER_IR")
_READABLE_AT_ONCE = "GLACIER_IR"
OPTIONS = {
    "api": "s3: archive storage classes of S3 (default); vault: the older API of vaults",
    "storage_class": f"{', '.join(_ARCHIVE_CLASSES)} (default: GLACIER; with api=s3)",
    "retrieval": "Standard, Expedited or Bulk (default: Standard)",
    "restore_days": "how long a restored copy is kept (default: 1; with api=s3)",
    **{name: line for name, line in s3.OPTIONS.items() if name != "storage_class"},
}
_RETRIEVALS = ("Standard", "Expedited", "Bulk")
_READ_BYTES = 65_536
_OWN_ACCOUNT = "-"
_INVENTORY_POLL_S = 5.0
_INVENTORY_PATIENCE_S = 6 * 3600.0


def build(target: Target) -> Service:
    """A client for one of the two ways to the archive."""
    api = choice(target.options, "api", ("s3", "vault")) if "api" in target.options else "s3"
    return Vault(target) if api == "vault" else ArchiveClass(target)


error_of = s3.error_of


class ArchiveClass(s3.S3):
    """S3 with objects that must be restored before they can be read."""

    def __init__(self, target: Target) -> None:
        options = target.options
        self._class = choice(options, "storage_class", _ARCHIVE_CLASSES) if "storage_class" in options else "GLACIER"
        self._retrieval = _retrieval(target)
        self._days = whole_number(options, "restore_days", 1, 365) if "restore_days" in options else 1
        super().__init__(target, {"StorageClass": self._class})
        self.archives = self._class != _READABLE_AT_ONCE

    def request_restore(self, reference: str) -> None:
        """Ask for a copy that can be read; one that was asked for before is fine."""
        from botocore.exceptions import ClientError

        if self._class == _READABLE_AT_ONCE:
            return
        wish: Any = {"Days": self._days, "GlacierJobParameters": {"Tier": self._retrieval}}
        try:
            self._client.restore_object(Bucket=self._bucket, Key=reference, RestoreRequest=wish)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "RestoreAlreadyInProgress":
                raise

    def is_restored(self, reference: str) -> bool:
        """Whether the copy is there."""
        if self._class == _READABLE_AT_ONCE:
            return True
        restore = str(self._client.head_object(Bucket=self._bucket, Key=reference).get("Restore", ""))
        return 'ongoing-request="false"' in restore


class Vault:
    """One vault of the older API."""

    def __init__(self, target: Target) -> None:
        import boto3

        self._vault = target.container
        self._retrieval = _retrieval(target)
        verify = None if target.ca_bundle is None else str(target.ca_bundle)
        self._client: GlacierClient = boto3.Session(region_name=target.region).client(
            "glacier", endpoint_url=target.endpoint_url, verify=verify, config=s3.boto_config(target.options)
        )
        self._jobs: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.archives = True
        self.lists_at_once = False
        self.part_bytes: int | None = None
        config: Any = self._client.meta.config
        self.sdk = Sdk("boto3", boto3.__version__, {"api": "vault", "retries": config.retries})

    @property
    def endpoint(self) -> str:
        """URL of the service."""
        return str(self._client.meta.endpoint_url)

    @property
    def region(self) -> str | None:
        """Of the client."""
        return self._client.meta.region_name or None

    def login(self) -> None:
        """A look at the vault."""
        self._client.describe_vault(accountId=_OWN_ACCOUNT, vaultName=self._vault)

    def create_container(self) -> None:
        """Make the vault; asking for one that is there would do nothing."""
        from botocore.exceptions import ClientError

        try:
            self.login()
        except ClientError as error:
            if not _is_missing(error):
                raise
            self._client.create_vault(accountId=_OWN_ACCOUNT, vaultName=self._vault)
            return
        raise ServiceError(ErrorKind.NAME_CLASH, f"vault {self._vault} is there already")

    def remove_container(self) -> None:
        """Remove the vault; AWS does so only after its daily inventory has found it empty."""
        from botocore.exceptions import ClientError

        try:
            self._client.delete_vault(accountId=_OWN_ACCOUNT, vaultName=self._vault)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code")
            if code == "InvalidParameterValueException":
                raise ServiceError(
                    ErrorKind.CONTAINER_NOT_EMPTY,
                    f"vault {self._vault} cannot be removed yet",
                    "the service counts its archives once a day: remove it tomorrow with vmtrace storage clean",
                ) from error
            if not _is_missing(error):
                raise

    def upload(self, name: str, file: LocalFile) -> Stored:
        """One request for the whole archive (of up to 4 GB)."""
        from botocore import utils

        with file.path.open("rb") as content:
            expected = str(utils.calculate_tree_hash(content))  # type: ignore[arg-type] # a file, not a path
            content.seek(0)
            answer = self._client.upload_archive(
                accountId=_OWN_ACCOUNT, vaultName=self._vault, archiveDescription=name, checksum=expected, body=content
            )
        digest = str(answer.get("checksum", "")).lower() or None
        return Stored(str(answer["archiveId"]), digest, None if digest is None else digest == expected)

    def request_restore(self, reference: str) -> None:
        """Begin a job of retrieval."""
        wish: Any = {"Type": "archive-retrieval", "ArchiveId": reference, "Tier": self._retrieval}
        answer = self._client.initiate_job(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobParameters=wish)
        self._jobs[reference] = str(answer["jobId"])

    def is_restored(self, reference: str) -> bool:
        """Whether its job is done."""
        job = self._job_of(reference)
        if job is None:
            return False
        state = self._client.describe_job(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobId=job)
        if state.get("StatusCode") == "Failed":
            raise ServiceError(ErrorKind.NOT_RESTORED, f"its job of retrieval failed: {state.get('StatusMessage')}")
        return bool(state.get("Completed"))

    def download(self, reference: str, sink: Sink) -> int:
        """The output of the job, in one GET."""
        job = self._job_of(reference)
        if job is None:
            raise ServiceError(ErrorKind.NOT_RESTORED, "there is no job of retrieval for this archive")
        answer = self._client.get_job_output(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobId=job)
        body = answer["body"]
        try:
            for block in body.iter_chunks(_READ_BYTES):
                sink.write(block)
        finally:
            body.close()
        return 0

    def delete(self, references: Sequence[str]) -> None:
        """One by one."""
        from botocore.exceptions import ClientError

        for reference in references:
            try:
                self._client.delete_archive(accountId=_OWN_ACCOUNT, vaultName=self._vault, archiveId=reference)
            except ClientError as error:
                if not _is_missing(error):
                    raise

    def own_objects(self, prefix: str) -> Iterator[str]:
        """By the vault's inventory, which takes hours and may be a day old: archives uploaded since are not in it."""
        import json

        wish: Any = {"Type": "inventory-retrieval"}
        job = self._client.initiate_job(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobParameters=wish)["jobId"]
        ends_s = time.monotonic() + _INVENTORY_PATIENCE_S
        while not self._client.describe_job(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobId=job).get("Completed"):
            if time.monotonic() > ends_s:
                raise ServiceError(ErrorKind.NOT_RESTORED, "the inventory of the vault did not come")
            time.sleep(_INVENTORY_POLL_S)
        output = self._client.get_job_output(accountId=_OWN_ACCOUNT, vaultName=self._vault, jobId=job)["body"].read()
        for archive in json.loads(output).get("ArchiveList", []):
            if str(archive.get("ArchiveDescription", "")).startswith(prefix):
                yield str(archive["ArchiveId"])

    def abandon_uploads(self, prefix: str) -> None:
        """An archive is uploaded by one request: nothing is left of one that was not finished."""

    def close(self) -> None:
        """Close the pool of connections."""
        self._client.close()

    def _job_of(self, reference: str) -> str | None:
        """The job of retrieval for an archive: this client's, or the newest that another one began."""
        if reference not in self._jobs:
            pages = self._client.get_paginator("list_jobs").paginate(accountId=_OWN_ACCOUNT, vaultName=self._vault)
            for page in pages:
                for job in page.get("JobList", []):
                    if job.get("ArchiveId"):
                        self._jobs.setdefault(str(job["ArchiveId"]), str(job["JobId"]))
        return self._jobs.get(reference)


def _is_missing(error: ClientError) -> bool:
    """ResourceNotFoundException at AWS; compatible servers have other words."""
    code = error.response.get("Error", {}).get("Code", "")
    return "NotFound" in code or error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404


def _retrieval(target: Target) -> str:
    return choice(target.options, "retrieval", _RETRIEVALS) if "retrieval" in target.options else "Standard"

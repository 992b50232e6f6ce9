"""The SDKs of storage services in their plainest form, for `bench.storage` to compare with."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol


class PlainClient(Protocol):
    """What a plain loop needs."""

    def login(self) -> None:
        """The first request: a connection, a token where the service has such, a look at the container."""

    def upload(self, path: Path, name: str) -> None:
        """Put a file."""

    def download(self, name: str) -> None:
        """Get an object, and forget it."""

    def close(self) -> None:
        """Closes its connections. The next request opens another one, of S3 and Swift."""


@contextmanager
def plain_client(provider: str, container: str) -> Iterator[PlainClient]:
    """One client of a service, closed at the end."""
    client: Any = {"s3": _S3, "swift": _Swift, "azure-blob": _AzureBlob}[provider](container)
    try:
        yield client
    finally:
        client.close()


class _Nowhere:
    def write(self, data: bytes) -> int:
        return len(data)


class _S3:
    def __init__(self, bucket: str) -> None:
        import boto3

        self._bucket, self._client = bucket, boto3.session.Session().client("s3")
        self.close = self._client.close

    def login(self) -> None:
        self._client.list_objects_v2(Bucket=self._bucket, MaxKeys=1)

    def upload(self, path: Path, name: str) -> None:
        self._client.upload_file(str(path), self._bucket, name)

    def download(self, name: str) -> None:
        self._client.download_fileobj(self._bucket, name, _Nowhere())  # type: ignore[arg-type] # it only writes


class _Swift:
    def __init__(self, container: str) -> None:
        import swiftclient

        names = ("ST_AUTH", "ST_USER", "ST_KEY")
        authurl, user, key = (os.environ[name] for name in names)
        self._container = container
        self._connection = swiftclient.Connection(authurl, user, key, cacert=os.environ["OS_CACERT"])
        self.close = self._connection.close

    def login(self) -> None:
        self._connection.head_container(self._container)

    def upload(self, path: Path, name: str) -> None:
        with path.open("rb") as content:
            self._connection.put_object(self._container, name, content, content_length=path.stat().st_size)

    def download(self, name: str) -> None:
        for _ in self._connection.get_object(self._container, name, resp_chunk_size=65_536)[1]:
            pass


class _AzureBlob:
    def __init__(self, container: str) -> None:
        from azure.storage.blob import BlobServiceClient

        shown = os.environ["AZURE_STORAGE_CONNECTION_STRING"]
        self._account = BlobServiceClient.from_connection_string(shown)
        self._container = self._account.get_container_client(container)
        self.close = self._account.close

    def login(self) -> None:
        self._container.get_container_properties()

    def upload(self, path: Path, name: str) -> None:
        with path.open("rb") as content:
            self._container.get_blob_client(name).upload_blob(content, length=path.stat().st_size, overwrite=True)

    def download(self, name: str) -> None:
        self._container.get_blob_client(name).download_blob().readinto(_Nowhere())  # type: ignore[arg-type] # as above

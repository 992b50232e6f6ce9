"""The plain SDKs do what `vmtrace storage run` is compared with."""

from collections.abc import Callable
from pathlib import Path

from bench.storage_sdks import plain_client
from vmtrace.lab.services.service import Service


def test_the_plain_clients_take_a_file_and_give_it_back(
    swift_service: Service, client_of: Callable[[Service], None], tmp_path: Path
) -> None:
    import boto3

    client_of(swift_service)
    boto3.session.Session().client("s3").create_bucket(Bucket="bench-plain")
    (tmp_path / "file").write_bytes(b"x" * 1000)
    for provider in ("s3", "swift"):
        with plain_client(provider, "bench-plain") as client:
            client.login()
            client.upload(tmp_path / "file", provider)
            client.download(provider)

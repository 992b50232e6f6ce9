"""Uploads a file to S3: `python -m vmtrace.lab.accuracy.s3_upload URL FILE PARALLEL`, by boto3 in parts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_PART_BYTES = 5 << 20
"""S3 takes no smaller parts, but for the last."""
_BUCKET = "lab"


def upload(url: str, file: Path, parallel: int) -> None:
    """Creates a bucket and uploads the file, so many parts at a time."""
    import boto3
    from boto3.s3.transfer import TransferConfig

    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="lab", aws_secret_access_key="lab"
    )
    client.create_bucket(Bucket=_BUCKET)
    parts = TransferConfig(_PART_BYTES, max_concurrency=parallel, multipart_chunksize=_PART_BYTES)
    client.upload_file(str(file), _BUCKET, file.name, Config=parts)


def main(arguments: list[str] | None = None) -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.accuracy.s3_upload", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path)
    parser.add_argument("parallel", type=int)
    shown = parser.parse_args(arguments)
    upload(shown.url, shown.file, shown.parallel)
    return 0


if __name__ == "__main__":
    sys.exit(main())

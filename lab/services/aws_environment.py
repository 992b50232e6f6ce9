"""What boto3 and the AWS CLI read from the environment to talk to a stand-in, and to nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from vmtrace.lab.services.service import REGION


def of(endpoint_url: str, ca_path: Path, access_key: str, secret_key: str) -> dict[str, str]:
    """Endpoint, credentials and trust; whoever runs the tests keeps their own credentials to themselves."""
    return {
        "AWS_ACCESS_KEY_ID": access_key,
        "AWS_SECRET_ACCESS_KEY": secret_key,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_CA_BUNDLE": str(ca_path),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }

"""What a host name tells of a cloud service: provider, service and region, from the providers' documented endpoints.

Sources: the endpoint tables of AWS (docs.aws.amazon.com/general/latest/gr), Azure Storage ("Storage account
endpoints"), Google Cloud Storage ("Request endpoints"), Rackspace ("Service access endpoints") and of the others
named below.
"""

import re
from typing import NamedTuple


class Service(NamedTuple):
    """A provider, and which service and region of it, as far as they are told."""

    provider: str
    service: str | None = None
    region: str | None = None


_SUFFIXES: tuple[tuple[str, Service], ...] = (
    ("cloudfront.net", Service("AWS", "CloudFront")),
    ("awsstatic.com", Service("AWS")),
    ("aws.dev", Service("AWS")),
    ("aws.amazon.com", Service("AWS", "Console")),
    ("azureedge.net", Service("Azure", "CDN")),
    ("azurefd.net", Service("Azure", "Front Door")),
    ("azurewebsites.net", Service("Azure", "App Service")),
    ("login.microsoftonline.com", Service("Azure", "Entra ID")),
    ("azure.net", Service("Azure")),
    ("azure.com", Service("Azure")),
    ("storage.googleapis.com", Service("Google Cloud", "Cloud Storage")),
    ("storage-download.googleapis.com", Service("Google Cloud", "Cloud Storage")),
    ("storage-upload.googleapis.com", Service("Google Cloud", "Cloud Storage")),
    ("oauth2.googleapis.com", Service("Google Cloud", "OAuth")),
    ("googleapis.com", Service("Google Cloud")),
    ("googleusercontent.com", Service("Google Cloud")),
    ("run.app", Service("Google Cloud", "Cloud Run")),
    ("clouddrive.com", Service("Rackspace", "Cloud Files")),
    ("rackcdn.com", Service("Rackspace", "Cloud Files CDN")),
    ("identity.api.rackspacecloud.com", Service("Rackspace", "Identity")),
    ("rackspacecloud.com", Service("Rackspace")),
    ("digitaloceanspaces.com", Service("DigitalOcean", "Spaces")),
    ("backblazeb2.com", Service("Backblaze", "B2")),
    ("wasabisys.com", Service("Wasabi", "Object Storage")),
    ("r2.cloudflarestorage.com", Service("Cloudflare", "R2")),
    ("workers.dev", Service("Cloudflare", "Workers")),
    ("cloudflare.com", Service("Cloudflare")),
    ("aliyuncs.com", Service("Alibaba Cloud")),
    ("oraclecloud.com", Service("Oracle Cloud")),
    ("cloud-object-storage.appdomain.cloud", Service("IBM Cloud", "Object Storage")),
    ("appdomain.cloud", Service("IBM Cloud")),
    ("linodeobjects.com", Service("Akamai", "Object Storage")),
    ("akamaized.net", Service("Akamai", "CDN")),
    ("scw.cloud", Service("Scaleway")),
    ("ovh.net", Service("OVHcloud")),
    ("dropboxapi.com", Service("Dropbox")),
    ("dropbox.com", Service("Dropbox")),
)
"""Longer suffixes win, whatever the order."""

_AWS_SUFFIXES = (
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "api.aws",
    "api.amazonwebservices.com.cn",
    "api.amazonwebservices.eu",
    "on.aws",
)
"""Of its partitions, as botocore's `partitions.json` has them; those that no public network reaches are left out."""
_AWS_REGION = re.compile(r"(?:[a-z]{2}|eusc)(?:-[a-z]+)+-\d{1,2}")
_AWS_SERVICES = {
    "s3": "S3",
    "s3-accelerate": "S3",
    "s3-accesspoint": "S3",
    "s3-control": "S3",
    "s3-fips": "S3",
    "s3-website": "S3",
    "s3-external-1": "S3",
    "s3-r-w": "S3",
    "s3-w": "S3",
    "s3express-control": "S3",
    "glacier": "S3 Glacier",
    "sqs": "SQS",
    "queue": "SQS",
    "sts": "STS",
    "iam": "IAM",
    "ec2": "EC2",
    "compute": "EC2",
    "compute-1": "EC2",
    "elb": "Elastic Load Balancing",
    "dynamodb": "DynamoDB",
    "kms": "KMS",
    "lambda": "Lambda",
    "lambda-url": "Lambda",
    "monitoring": "CloudWatch",
    "logs": "CloudWatch Logs",
    "execute-api": "API Gateway",
}
"""What the label before the region says; other AWS services are told by provider alone."""

_REGION_BEFORE = ("EC2", "Elastic Load Balancing", "SQS")
"""Services whose names have the region left of the service."""

_AZURE_STORAGE_SUFFIXES = (
    "core.windows.net",
    "storage.azure.net",
    "core.usgovcloudapi.net",
    "core.chinacloudapi.cn",
)
_AZURE_SERVICES = {
    "blob": "Blob Storage",
    "dfs": "Data Lake Storage",
    "file": "Files",
    "queue": "Queue Storage",
    "table": "Table Storage",
    "web": "Blob Storage",
    "store": "Storage",
    "database": "SQL Database",
}


def service_of(name: str) -> Service | None:
    """The service behind a host name or a pattern of one (`*.s3.amazonaws.com`); none if it is not known."""
    labels = name.lower().rstrip(".").split(".")
    plain = ".".join(labels)
    for suffix in _AWS_SUFFIXES:
        if _is_under(plain, suffix):
            return _aws(labels[: -len(suffix.split("."))])
    for suffix in _AZURE_STORAGE_SUFFIXES:
        if _is_under(plain, suffix):
            return _azure(labels[: -len(suffix.split("."))])
    found = max((entry for entry in _SUFFIXES if _is_under(plain, entry[0])), key=lambda e: len(e[0]), default=None)
    return None if found is None else _refined(found[1], labels)


def _is_under(name: str, suffix: str) -> bool:
    return name == suffix or name.endswith("." + suffix)


def _aws(labels: list[str]) -> Service:
    """`bucket.s3.dualstack.eu-west-1`, `s3-eu-west-1`, `ec2-1-2-3-4.eu-west-1.compute`: read from the right, because a
    bucket may be called anything."""
    region = None
    for label in reversed(labels):
        if region is None and _AWS_REGION.fullmatch(label):
            region = label
            continue
        if label in {"dualstack", "vpce", "fips"}:
            continue
        service, at = _AWS_SERVICES.get(label), None
        if service is None:
            service, at = _with_region(label)
        if service is None and label.startswith("s3express"):
            service = "S3"
        if service in _REGION_BEFORE and region is None:
            region = next((left for left in labels if _AWS_REGION.fullmatch(left)), None)
        return Service("AWS", service, region or at)
    return Service("AWS", None, region)


def _with_region(label: str) -> tuple[str | None, str | None]:
    """`s3-eu-west-1` and `s3-website-eu-west-1`."""
    for prefix in ("s3-website-", "s3-r-w-", "s3-"):
        region = label.removeprefix(prefix)
        if region != label and _AWS_REGION.fullmatch(region):
            return "S3", region
    return None, None


def _azure(labels: list[str]) -> Service:
    known = (_AZURE_SERVICES[label] for label in reversed(labels) if label in _AZURE_SERVICES)
    return Service("Azure", next(known, None))


def _refined(service: Service, labels: list[str]) -> Service:
    """Services of providers whose object storage shows in a label."""
    if service.provider == "OVHcloud" and labels[0] == "storage":
        return service._replace(service="Swift")
    if service.provider == "OVHcloud" and "s3" in labels:
        return service._replace(service="Object Storage")
    if service.provider == "Alibaba Cloud" and any(label.startswith("oss-") for label in labels):
        return service._replace(service="OSS")
    if service.provider == "Oracle Cloud" and "objectstorage" in labels:
        return service._replace(service="Object Storage")
    if service.provider == "Scaleway" and "s3" in labels:
        return service._replace(service="Object Storage")
    return service

"""What names and addresses tell of a cloud service, and which of several hints counts."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.findings.services.identify import Answers, Facts, identify
from vmtrace.analyze.findings.services.names import Service, service_of
from vmtrace.analyze.findings.services.ranges import AddressRanges, RangesError, read


@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("bucket.s3.eu-west-1.amazonaws.com", Service("AWS", "S3", "eu-west-1")),
        ("s3.amazonaws.com", Service("AWS", "S3")),
        ("s3-eu-west-1.amazonaws.com", Service("AWS", "S3", "eu-west-1")),
        ("b.s3.dualstack.us-east-2.amazonaws.com", Service("AWS", "S3", "us-east-2")),
        ("s3-r-w.eu-west-1.amazonaws.com", Service("AWS", "S3", "eu-west-1")),
        ("s3-website-us-gov-west-1.amazonaws.com", Service("AWS", "S3", "us-gov-west-1")),
        ("sqs.s3.amazonaws.com", Service("AWS", "S3")),
        ("*.s3-accelerate.amazonaws.com", Service("AWS", "S3")),
        ("glacier.us-east-1.amazonaws.com", Service("AWS", "S3 Glacier", "us-east-1")),
        ("s3.cn-north-1.amazonaws.com.cn", Service("AWS", "S3", "cn-north-1")),
        ("ec2-1-2-3-4.eu-west-1.compute.amazonaws.com", Service("AWS", "EC2", "eu-west-1")),
        ("cognito-identity.us-east-1.amazonaws.com", Service("AWS", None, "us-east-1")),
        ("s3.eusc-de-east-1.amazonaws.eu", Service("AWS", "S3", "eusc-de-east-1")),
        ("b.s3.cn-north-1.api.amazonwebservices.com.cn", Service("AWS", "S3", "cn-north-1")),
        ("eu-west-1.queue.amazonaws.com", Service("AWS", "SQS", "eu-west-1")),
        ("AMAZONAWS.COM.", Service("AWS")),
        ("d1.cloudfront.net", Service("AWS", "CloudFront")),
        ("account.blob.core.windows.net", Service("Azure", "Blob Storage")),
        ("account.z7.blob.storage.azure.net", Service("Azure", "Blob Storage")),
        ("account.queue.core.windows.net", Service("Azure", "Queue Storage")),
        ("management.azure.com", Service("Azure")),
        ("storage.googleapis.com", Service("Google Cloud", "Cloud Storage")),
        ("b.storage.googleapis.com", Service("Google Cloud", "Cloud Storage")),
        ("storage101.dfw1.clouddrive.com", Service("Rackspace", "Cloud Files")),
        ("identity.api.rackspacecloud.com", Service("Rackspace", "Identity")),
        ("storage.gra.cloud.ovh.net", Service("OVHcloud", "Swift")),
        ("bucket.oss-cn-hangzhou.aliyuncs.com", Service("Alibaba Cloud", "OSS")),
        ("s3.gra.io.cloud.ovh.net", Service("OVHcloud", "Object Storage")),
        ("s3.fr-par.scw.cloud", Service("Scaleway", "Object Storage")),
        ("api.scw.cloud", Service("Scaleway")),
        ("objectstorage.eu-frankfurt-1.oraclecloud.com", Service("Oracle Cloud", "Object Storage")),
        ("identity.eu-frankfurt-1.oraclecloud.com", Service("Oracle Cloud")),
        ("s3.eu-central-1.wasabisys.com", Service("Wasabi", "Object Storage")),
        ("storage-download.googleapis.com", Service("Google Cloud", "Cloud Storage")),
        ("compute.googleapis.com", Service("Google Cloud")),
        ("notamazonaws.com", None),
        ("amazonaws.com.evil.example", None),
        ("", None),
    ],
)
def test_a_name_tells_provider_service_and_region(name: str, service: Service | None) -> None:
    assert service_of(name) == service


@given(st.text(max_size=80))
def test_any_text_is_a_name_of_something_or_nothing(text: str) -> None:
    service_of(text)
    service_of(f"{text}.amazonaws.com")


AWS = {
    "prefixes": [
        {"ip_prefix": "52.218.0.0/17", "region": "eu-west-1", "service": "AMAZON"},
        {"ip_prefix": "52.218.0.0/17", "region": "eu-west-1", "service": "S3"},
        {"ip_prefix": "52.218.1.0/24", "region": "eu-west-1", "service": "AMAZON"},
        {"ip_prefix": "3.0.0.0/15", "region": "ap-southeast-1", "service": "AMAZON"},
    ],
    "ipv6_prefixes": [{"ipv6_prefix": "2a05:d070:8000::/40", "region": "eu-west-1", "service": "CLOUDFRONT"}],
}
AZURE = {
    "values": [
        {"name": "AzureCloud.westeurope",
         "properties": {"region": "westeurope", "systemService": "", "addressPrefixes": ["20.60.0.0/14"]}},
        {"name": "Storage.WestEurope",
         "properties": {"region": "westeurope", "systemService": "AzureStorage", "addressPrefixes": ["20.60.26.0/23"]}},
    ]
}  # fmt: skip
GOOGLE = {"prefixes": [{"ipv4Prefix": "34.1.208.0/20", "service": "Google Cloud", "scope": "africa-south1"}]}


@pytest.fixture
def ranges(tmp_path: Path) -> AddressRanges:
    for name, content in (("aws", AWS), ("azure", AZURE), ("google", GOOGLE)):
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "own.csv").write_text("# ours\n198.51.100.0/24, Example, Swift\n203.0.113.9/24,Lab,Files,here,more\n")
    return read(sorted(tmp_path.iterdir()))


@pytest.mark.parametrize(
    ("address", "service"),
    [
        ("52.218.1.9", Service("AWS", "S3", "eu-west-1")),
        ("3.1.2.3", Service("AWS", None, "ap-southeast-1")),
        ("2a05:d070:8000::7", Service("AWS", "CloudFront", "eu-west-1")),
        ("20.60.27.255", Service("Azure", "Storage", "westeurope")),
        ("20.61.0.1", Service("Azure", None, "westeurope")),
        ("34.1.208.1", Service("Google Cloud", None, "africa-south1")),
        ("198.51.100.7", Service("Example", "Swift")),
        ("203.0.113.7", Service("Lab", "Files", "here")),
        ("198.51.101.7", None),
        ("no address", None),
    ],
)
def test_published_ranges_of_all_forms_tell_whose_address_it_is(
    ranges: AddressRanges, address: str, service: Service | None
) -> None:
    assert ranges.service_of(address) == service


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"prefixes": {"a": 1}}', "prefixes: expected a list of objects"),
        ('{"prefixes": [7]}', "prefixes: expected a list of objects"),
        ('{"prefixes": [{"ip_prefix": 167772160, "service": "S3"}]}', "167772160 is no prefix"),
        ('{"prefixes": [{"ip_prefix": null, "service": "S3"}]}', "null is no prefix"),
        ('{"prefixes": [{"ip_prefix": "10.0.0.0/8"}]}', "service: expected text in each of prefixes"),
        ('{"values": [{"properties": []}]}', "properties: expected an object in each of values"),
    ],
)
def test_what_is_wrong_with_ranges_is_reported_in_words_of_the_file(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(RangesError) as error:
        read([path])
    assert str(error.value).startswith(f"{path}: {told}; expected AWS ip-ranges.json")


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[1]", b"\xff\xfe", b"10.0.0.0/8", b"10.0.0.0/99,x", b'{"prefixes": [{"service": "S3"}]}',
        b'{"values": [{}]}', b'{"values": 7}', b'{"prefixes": [7]}', b"[" * 5000,
    ],
)  # fmt: skip
def test_a_file_that_holds_no_ranges_is_one_line_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(RangesError) as error:
        read([path])
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def told(facts: Facts, answers: Answers, ranges: AddressRanges) -> tuple[str, str | None, str]:
    identity = identify(facts, answers, ranges)
    return identity.provider, identity.service, identity.identified_by


def test_a_name_goes_before_an_address_and_what_the_client_asked_for_before_all(ranges: AddressRanges) -> None:
    answers = Answers([(1, "10.0.0.1", "queue.amazonaws.com", None, "52.218.1.9")])
    facts = Facts("10.0.0.1:40000", "52.218.1.9:443", 5, "a.blob.core.windows.net", ("*.storage.googleapis.com",))
    assert told(facts, answers, ranges) == ("Azure", "Blob Storage", "sni")
    facts = facts._replace(sni="unknown.example")
    assert told(facts, answers, ranges) == ("Google Cloud", "Cloud Storage", "certificate")
    facts = facts._replace(certificate_names=())
    assert told(facts, answers, ranges) == ("AWS", "SQS", "dns")
    assert told(facts, Answers(), ranges) == ("AWS", "S3", "range")
    assert told(facts, Answers(), AddressRanges()) == ("other", None, "sni")
    assert told(facts._replace(sni=None), Answers(), AddressRanges()) == ("no name, port 443", None, "port")


def test_a_connection_is_named_by_what_its_own_client_was_answered() -> None:
    answers = Answers(
        [
            (10, "10.0.0.1", "s3.amazonaws.com", None, "2001:db8::1"),
            (20, "10.0.0.2", "sqs.us-east-1.amazonaws.com", None, "2001:db8::1"),
        ]
    )
    for client, service in (("10.0.0.1:40000", "S3"), ("10.0.0.2:443", "SQS")):
        facts = Facts(client, "[2001:db8::1]:443", 30, None, ())
        assert told(facts, answers, AddressRanges()) == ("AWS", service, "dns")


def test_the_last_answer_before_a_connection_counts_and_the_clients_own_first() -> None:
    answers = Answers(
        [
            (10, "10.0.0.1", "s3.amazonaws.com", None, "192.0.2.1"),
            (20, "10.0.0.2", "sqs.us-east-1.amazonaws.com", None, "192.0.2.1"),
            (30, "10.0.0.1", "www.example.org", "d1.cloudfront.net, e.example.org", "192.0.2.1"),
            (40, "10.0.0.1", "no.example", None, None),
        ]
    )
    names = answers.names_of
    assert names("192.0.2.1", "10.0.0.1", 25) == ("s3.amazonaws.com",)
    assert names("192.0.2.1", "10.0.0.1", 35) == ("www.example.org", "d1.cloudfront.net", "e.example.org")
    assert names("192.0.2.1", "10.0.0.9", 25) == ("sqs.us-east-1.amazonaws.com",)
    assert names("192.0.2.1", "10.0.0.1", 5) == ("s3.amazonaws.com",), "a later answer is better than none"
    assert names("192.0.2.9", "10.0.0.1", 35) == ()

"""boto3 asked: credentials, region, profile and role are its own; trouble is one line; no secret is kept."""

import re
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cloudwatch.made import ACCESS_KEY, REGION, SECRET_KEY, TOKEN, error
from vmtrace.cloudwatch.backoff import Backoff
from vmtrace.cloudwatch.errors import CloudWatchError, UsageError
from vmtrace.cloudwatch.service import Account, Service, _secrets_of, open_service


def ask(account: Account) -> None:
    open_service(account).ask("list_metrics", {"Namespace": "CWAgent"})


def test_without_credentials_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    with pytest.raises(CloudWatchError, match=r"^CloudWatch: no credentials: set AWS_PROFILE or give --profile"):
        ask(Account(region=REGION))


def test_half_of_the_credentials_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(CloudWatchError, match="the credentials are not complete"):
        ask(Account(region=REGION))


def test_without_a_region_there_is_a_line() -> None:
    with pytest.raises(CloudWatchError, match=r"^CloudWatch: no region: give --region"):
        ask(Account())


@pytest.mark.parametrize("region", ["nowhere at all", "eu_west_1", "../x"])
def test_a_region_that_can_be_none_is_one_line(region: str) -> None:
    with pytest.raises(CloudWatchError, match=r"^CloudWatch: .*region") as caught:
        ask(Account(region=region))
    assert "\n" not in str(caught.value)


def test_a_profile_that_is_not_there_is_reported() -> None:
    with pytest.raises(CloudWatchError, match=r"profile \(nobody\) could not be found"):
        ask(Account(region=REGION, profile="nobody"))


def test_a_profile_gives_region_and_credentials(scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    (tmp_path / "aws-config").write_text("[profile lab]\nregion = ap-south-1\n")
    (tmp_path / "aws-credentials").write_text("[lab]\naws_access_key_id = AKIALAB\naws_secret_access_key = labsecret\n")
    scripted.answers = [(200, {"Metrics": []})]
    ask(Account(profile="lab", endpoint_url=scripted.url))
    assert "Credential=AKIALAB/" in scripted.raw[0]
    assert "/ap-south-1/monitoring/" in scripted.raw[0]


def test_a_role_is_taken_on(moto: Any, scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", moto.url)
    scripted.answers = [(200, {"Metrics": []})]
    role = "arn:aws:iam::123456789012:role/metrics"
    ask(Account(region=REGION, role_arn=role, endpoint_url=scripted.url))
    assert "Credential=" in scripted.raw[0]
    assert ACCESS_KEY not in scripted.raw[0]


def test_a_role_that_is_refused_is_one_line(scripted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", scripted.url)
    body = b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"
    scripted.answers = [(403, body)]
    with pytest.raises(
        CloudWatchError, match=r"^role arn:aws:iam::1:role/x: these credentials may not do sts:AssumeRole"
    ):
        open_service(Account(region=REGION, role_arn="arn:aws:iam::1:role/x"))


@pytest.mark.parametrize(
    "content", [b"garbage", b"<a/>", b"<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>"]
)
def test_a_role_of_which_the_answer_is_garbage_is_one_line(
    scripted: Any, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", scripted.url)
    scripted.answers = [(200, content)]
    with pytest.raises(
        CloudWatchError, match=r"^role arn:aws:iam::1:role/role-x: the response is malformed \([A-Za-z]+\)$"
    ):
        open_service(Account(region=REGION, role_arn="arn:aws:iam::1:role/role-x"))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("ExpiredTokenException", "the credentials have expired"),
        ("AccessDeniedException", "these credentials may not do cloudwatch:ListMetrics"),
        ("UnrecognizedClientException", "AWS does not know these credentials"),
        ("InvalidSignatureException", "the secret key does not fit the access key"),
    ],
)
def test_a_refusal_is_asked_once_and_told(scripted: Any, code: str, line: str) -> None:
    scripted.answers = [error(code, f"canonical request: {TOKEN}")]
    with pytest.raises(CloudWatchError, match=rf"^CloudWatch ListMetrics in {REGION}: {line}") as caught:
        ask(Account(region=REGION, endpoint_url=scripted.url))
    assert len(scripted.asked) == 1
    assert TOKEN not in str(caught.value)


def test_a_wrong_clock_is_reported_with_its_error(scripted: Any) -> None:
    scripted.answers = [error("InvalidSignatureException", "Signature expired: 1 is now earlier than 2")]
    scripted.headers = {"X-Date": "Sat, 01 Jan 2000 00:00:00 GMT"}
    with pytest.raises(CloudWatchError, match=r"the clock of this machine is wrong for AWS \(it is [0-9,]+ s ahead of"):
        ask(Account(region=REGION, endpoint_url=scripted.url))


def test_a_server_that_is_not_there_is_one_line() -> None:
    with pytest.raises(CloudWatchError, match="Could not connect to the endpoint URL"):
        ask(Account(region=REGION, endpoint_url="http://127.0.0.1:1"))


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://user:word@host", "http://host/?key=1", "host:1", "http://", "http://a b"]
)
def test_an_endpoint_with_a_password_or_none_at_all_is_wrong_usage(url: str) -> None:
    with pytest.raises(UsageError, match="--endpoint-url"):
        Account(endpoint_url=url).checked()


def test_credentials_are_redacted_in_any_text(scripted: Any) -> None:
    service = open_service(Account(region=REGION, endpoint_url=scripted.url))
    text = service.redact(f"a {ACCESS_KEY} b {SECRET_KEY} c {TOKEN} d")
    assert text == "a (credential) b (credential) c (credential) d"


def test_exchanges_are_kept_without_headers(scripted: Any) -> None:
    scripted.answers = [(200, {"Metrics": []})]
    scripted.headers = {"x-amzn-RequestId": "abc"}
    service = open_service(Account(region=REGION, endpoint_url=scripted.url))
    service.ask("list_metrics", {"Namespace": "N"})
    (exchange,) = service.exchanges
    assert exchange["operation"] == "ListMetrics"
    assert exchange["response"] == {"Metrics": [], "RequestId": "abc"}


def test_boto3_is_imported_only_when_a_service_is_asked() -> None:
    code = (
        "import sys, cloudwatch.command as c; c.run(c.build_parser().parse_args(['policy']));"
        "sys.exit(any(name in sys.modules for name in ('boto3', 'botocore', 'pyarrow')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_without_boto3_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    remedy = rf"boto3 is needed .+: {re.escape(sys.executable)} -m pip install boto3$"
    with pytest.raises(CloudWatchError, match=remedy):
        open_service(Account(region=REGION))


class Breaking:
    """A client whose connection breaks at every request."""

    def __init__(self) -> None:
        self.asked = 0

    def list_metrics(self, **_: Any) -> None:
        from botocore.exceptions import ReadTimeoutError

        self.asked += 1
        raise ReadTimeoutError(endpoint_url="http://there")

    put_metric_data = list_metrics


@pytest.mark.parametrize(("operation", "times"), [("list_metrics", 3), ("put_metric_data", 1)])
def test_a_broken_connection_is_tried_again_but_nothing_is_put_twice(operation: str, times: int) -> None:
    client = Breaking()
    service = Service(client, REGION, tuple, Backoff(sleep=lambda _: None))  # type: ignore[arg-type]
    with pytest.raises(CloudWatchError, match='Read timeout on endpoint URL: "http://there"'):
        service.ask(operation, {})
    assert client.asked == times


def test_credentials_that_cannot_be_renewed_do_not_hide_the_trouble(scripted: Any) -> None:
    from botocore.exceptions import CredentialRetrievalError

    class Session:
        calls = 0

        def get_credentials(self) -> Any:
            self.calls += 1
            if self.calls > 1:
                raise CredentialRetrievalError(provider="sso", error_msg="gone")
            return Session.Credentials()

        class Credentials:
            def get_frozen_credentials(self) -> Any:
                return SimpleNamespace(access_key=ACCESS_KEY, secret_key=SECRET_KEY, token=None)

    secrets = _secrets_of(Session())  # type: ignore[arg-type]
    assert set(secrets()) == {ACCESS_KEY, SECRET_KEY}


def test_a_response_that_drips_is_broken_off() -> None:
    client: Any = SimpleNamespace(list_metrics=lambda **_: time.sleep(30))
    service = Service(client, REGION, lambda: (), call_s=0.2)
    began_s = time.monotonic()
    with pytest.raises(CloudWatchError, match=r"ListMetrics in .*: no complete response: no end within 0\.2 s"):
        service.ask("list_metrics", {})
    assert time.monotonic() - began_s < 10

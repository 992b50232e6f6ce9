"""Every refusal is one line that says what to do."""

from datetime import UTC, datetime

import pytest

from vmtrace.cloudwatch.trouble import client_error_line, code_of, is_passing, library_error_line

NOW = datetime(2026, 11, 21, 14, 0, 0, tzinfo=UTC)


def response(code: str, message: str = "", status: int = 400, date: str | None = None) -> dict[str, object]:
    headers = {"date": date} if date else {}
    return {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": headers},
    }


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        ("ExpiredToken", "The security token included in the request is expired", "the credentials have expired"),
        ("ExpiredTokenException", "", "the credentials have expired"),
        ("InvalidClientTokenId", "", "AWS does not know these credentials"),
        ("UnrecognizedClientException", "", "AWS does not know these credentials"),
        ("AccessDenied", "", "these credentials may not do cloudwatch:GetMetricData: `vmtrace cloudwatch policy`"),
        ("AccessDeniedException", "", "these credentials may not do cloudwatch:GetMetricData"),
        ("SignatureDoesNotMatch", "Signature expired: 2026 is now earlier than 2027", "the clock of this machine"),
        ("SignatureDoesNotMatch", "Signature not yet current", "the clock of this machine"),
        ("RequestTimeTooSkewed", "", "the clock of this machine"),
        ("RequestExpired", "", "the clock of this machine"),
        ("SignatureDoesNotMatch", "we calculated another; token: SECRET", "the secret key does not fit"),
        ("Throttling", "", "the service is busy and stayed so (Throttling)"),
        ("ValidationError", "The parameter\nPeriod is wrong", "ValidationError: The parameter Period is wrong"),
    ],
)
def test_a_refusal_s_line(code: str, message: str, line: str) -> None:
    found = client_error_line("cloudwatch:GetMetricData", response(code, message), NOW)
    assert found.startswith(line)
    assert "\n" not in found
    assert "SECRET" not in found


def test_how_wrong_the_clock_is_is_reported() -> None:
    date = "Sat, 21 Nov 2026 13:48:00 GMT"
    line = client_error_line("x", response("RequestTimeTooSkewed", date=date), NOW)
    assert "it is 720 s ahead of the server's" in line
    assert "720" not in client_error_line("x", response("RequestTimeTooSkewed", date="nonsense"), NOW)


@pytest.mark.parametrize(
    ("code", "status", "passing"),
    [("Throttling", 400, True), ("InternalServiceFault", 500, True), ("X", 503, True), ("X", 429, True),
     ("AccessDenied", 403, False), ("ValidationError", 400, False), ("ExpiredToken", 400, False)],
)  # fmt: skip
def test_what_may_pass_is_asked_again(code: str, status: int, passing: bool) -> None:
    assert is_passing(response(code, status=status)) is passing


def test_a_response_without_anything_in_it_has_a_line() -> None:
    assert code_of({}) == "no code"
    assert client_error_line("x", {}, NOW) == "no code"


def test_what_boto3_raises_has_a_line() -> None:
    from botocore import exceptions

    lines = {
        exceptions.NoCredentialsError(): "no credentials: set AWS_PROFILE",
        exceptions.NoRegionError(): "no region: give --region",
        exceptions.PartialCredentialsError(provider="env", cred_var="x"): "the credentials are not complete",
        exceptions.UnauthorizedSSOTokenError(): "the session of single sign-on has ended: aws sso login",
        exceptions.CredentialRetrievalError(provider="p", error_msg="boom"): "no credentials could be had: ",
        exceptions.EndpointConnectionError(
            endpoint_url="http://x"
        ): 'Could not connect to the endpoint URL: "http://x"',
    }
    for problem, line in lines.items():
        assert library_error_line(problem).startswith(line)

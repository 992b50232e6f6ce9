"""What the service or boto3 refused, as one line that says what to do; and whether asking again can help."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from vmtrace.cloudwatch.records import Record, one_line, record

_BUSY = re.compile(
    r"Throttl|TooManyRequests|RequestLimitExceeded|LimitExceeded|SlowDown|BandwidthLimitExceeded|PriorRequestNotComplete"
)
_BROKEN = re.compile(r"InternalService|InternalFailure|InternalError|ServiceUnavailable|RequestTimeout$|^5\d\d$")
_EXPIRED = re.compile(r"ExpiredToken|TokenRefreshRequired")
_UNKNOWN_KEY = re.compile(r"InvalidClientTokenId|UnrecognizedClient|InvalidAccessKeyId|AuthFailure|InvalidToken")
_DENIED = re.compile(r"AccessDenied|UnauthorizedOperation|NotAuthorized|AuthorizationError|MissingAuthentication")
_SIGNATURE = re.compile(r"SignatureDoesNotMatch|InvalidSignature|IncompleteSignature")
_CLOCK = re.compile(r"RequestTimeTooSkewed|RequestExpired|RequestInTheFuture")
_CLOCK_WORDS = re.compile(r"expired|not yet current|too skewed|earlier than|later than", re.IGNORECASE)
_SKEW_WORTH_TELLING_S = 30

_NEW_CREDENTIALS = "get new ones (aws sso login, or the way you got these)"


def code_of(response: Record) -> str:
    """The error code of a ClientError's response; the HTTP status where there is none."""
    code = record(response.get("Error")).get("Code")
    status = record(response.get("ResponseMetadata")).get("HTTPStatusCode")
    return one_line(code or status or "no code")


def is_passing(response: Record) -> bool:
    """Whether the same request may succeed later."""
    code = code_of(response)
    status = record(response.get("ResponseMetadata")).get("HTTPStatusCode")
    return bool(_BUSY.search(code) or _BROKEN.search(code)) or (isinstance(status, int) and status in {429, 502, 503})


def client_error_line(action: str, response: Record, now: datetime | None = None) -> str:
    """The line for an error that the service answered; `action` is the permission, like cloudwatch:GetMetricData.

    What the service says of a wrong signature is left out: it repeats the request, session token included.
    """
    code, message = code_of(response), one_line(record(response.get("Error")).get("Message") or "")
    skew = _clock_line(response, now or datetime.now(UTC))
    if _CLOCK.search(code) or (_SIGNATURE.search(code) and _CLOCK_WORDS.search(message)):
        return f"the clock of this machine is wrong for AWS{skew}: set it (chrony, timedatectl) and try again"
    if _EXPIRED.search(code):
        return f"the credentials have expired: {_NEW_CREDENTIALS}{skew}"
    if _UNKNOWN_KEY.search(code):
        return "AWS does not know these credentials: choose others with --profile or the AWS_* variables"
    if _DENIED.search(code):
        return f"these credentials may not do {action}: `vmtrace cloudwatch policy` prints what must be allowed"
    if _SIGNATURE.search(code):
        return f"the secret key does not fit the access key ({code}): check the profile or the AWS_* variables{skew}"
    if _BUSY.search(code):
        return f"the service is busy and stayed so ({code}): try again later"
    return f"{code}: {message}" if message else code


def library_error_line(error: BaseException) -> str:
    """The line for what boto3 or botocore raised by itself, without or before an answer."""
    name = type(error).__name__
    line = _LIBRARY_LINES.get(name)
    if line is not None:
        return line
    if "SSO" in name or "Token" in name:
        return "the session of single sign-on has ended: aws sso login"
    if "Credential" in name:
        return f"no credentials could be had: {one_line(error)}"
    return one_line(error) or name


NO_CREDENTIALS = "no credentials: set AWS_PROFILE or give --profile, run `aws configure`, or use an instance role"

_LIBRARY_LINES = {
    "NoCredentialsError": NO_CREDENTIALS,
    "PartialCredentialsError": "the credentials are not complete: an access key needs its secret key",
    "NoRegionError": "no region: give --region, set AWS_REGION, or set one in the profile",
}


def _clock_line(response: Record, now: datetime) -> str:
    """How far this clock is from the server's, if that explains anything."""
    date = record(record(response.get("ResponseMetadata")).get("HTTPHeaders")).get("date")
    try:
        served = parsedate_to_datetime(str(date))
        ahead_s = (now - (served if served.tzinfo else served.replace(tzinfo=UTC))).total_seconds()
    except (ValueError, OverflowError):
        return ""
    if abs(ahead_s) < _SKEW_WORTH_TELLING_S:
        return ""
    return f" (it is {abs(ahead_s):,.0f} s {'ahead of' if ahead_s > 0 else 'behind'} the server's)"

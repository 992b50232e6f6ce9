"""What goes wrong with a service, in plain kinds: one line that names the service, what happened and the remedy.

ProvidersError            anything of this room that a user reads
+-- UsageError            the command line says what cannot be: exit status 2
+-- ServiceError          a service, or the way to it, refused; has a kind
    +-- BudgetError       raised by us before more would be spent than was allowed
"""

import errno
import socket
import ssl
from collections.abc import Iterator
from enum import StrEnum


class ErrorKind(StrEnum):
    """The words that stand in a run folder as `error_kind`."""

    CREDENTIALS = "credentials"
    EXPIRED_TOKEN = "expired_token"
    ACCESS_DENIED = "access_denied"
    CLOCK_SKEW = "clock_skew"
    NO_SUCH_CONTAINER = "no_such_container"
    CONTAINER_NOT_EMPTY = "container_not_empty"
    NAME_CLASH = "name_clash"
    NO_SUCH_OBJECT = "no_such_object"
    NOT_RESTORED = "not_restored"
    QUOTA = "quota"
    THROTTLED = "throttled"
    TLS_VERIFICATION = "tls_verification"
    ENDPOINT_GONE = "endpoint_gone"
    SERVICE = "service"
    DIGEST = "digest"
    BUDGET = "budget"
    CAPTURE = "capture"
    UNSUPPORTED = "unsupported"
    OTHER = "other"


HOPELESS = frozenset(
    {
        ErrorKind.CREDENTIALS,
        ErrorKind.EXPIRED_TOKEN,
        ErrorKind.ACCESS_DENIED,
        ErrorKind.CLOCK_SKEW,
        ErrorKind.NO_SUCH_CONTAINER,
        ErrorKind.QUOTA,
        ErrorKind.TLS_VERIFICATION,
        ErrorKind.BUDGET,
        ErrorKind.UNSUPPORTED,
    }
)
"""After one of these the next object would fare no better: the run ends."""

_REMEDIES = {
    ErrorKind.CREDENTIALS: "check the credentials that its SDK finds (environment, profile)",
    ErrorKind.EXPIRED_TOKEN: "get a new token, then run again",
    ErrorKind.ACCESS_DENIED: "let this account list, put, get and delete in the container, or name another",
    ErrorKind.CLOCK_SKEW: "set this machine's clock (NTP), then run again",
    ErrorKind.NO_SUCH_CONTAINER: "create it, name another with --bucket, or leave --bucket out",
    ErrorKind.CONTAINER_NOT_EMPTY: "someone else put something there: it stays; remove it by hand",
    ErrorKind.NAME_CLASH: "the name is taken: name another with --bucket",
    ErrorKind.NO_SUCH_OBJECT: "someone else removed it, or the upload was lost",
    ErrorKind.NOT_RESTORED: "the archive was not restored in time: give --restore-timeout more",
    ErrorKind.QUOTA: "free some space or raise the account's quota",
    ErrorKind.THROTTLED: "the service asks for fewer requests: try later or a plan with more idle time",
    ErrorKind.TLS_VERIFICATION: "check the endpoint's name, or name the certificate authority with --ca-bundle",
    ErrorKind.ENDPOINT_GONE: "check --endpoint-url, the region and the network",
    ErrorKind.SERVICE: "the service failed: try later",
    ErrorKind.BUDGET: "raise the budget, or choose a smaller plan with --scale or --quick",
    ErrorKind.UNSUPPORTED: "this endpoint cannot do it: choose another option or service",
}

_UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN}
_NO_CA_FILE = "TLS CA certificate bundle"


class ProvidersError(RuntimeError):
    """What keeps a benchmark from being done; the message is one line for a person."""


class UsageError(ProvidersError):
    """The command line, or a file it names, says what cannot be."""


class ServiceError(ProvidersError):
    """A service refused, or could not be reached. `about` names the service; see `told` for the whole line."""

    def __init__(self, kind: ErrorKind, text: str, remedy: str | None = None) -> None:
        super().__init__(" ".join(text.split()))
        self.kind = kind
        self.remedy = remedy or _REMEDIES.get(kind)

    def shown(self, about: str) -> str:
        """The line for a person: which service, what happened, what to do."""
        return f"{about}: {self}" + (f": {self.remedy}" if self.remedy else "")


class BudgetError(ServiceError):
    """The next request would exceed what the user allowed; it was not made."""

    def __init__(self, text: str) -> None:
        super().__init__(ErrorKind.BUDGET, text)


def transport_error(error: BaseException) -> ServiceError | None:
    """What the network or TLS had to do with it, whatever the SDK wrapped around it; None if nothing."""
    for one in chain(error):
        if isinstance(one, ServiceError):
            return one
        if isinstance(one, ssl.SSLCertVerificationError):
            return ServiceError(ErrorKind.TLS_VERIFICATION, f"its certificate was refused: {_reason(one)}")
        if isinstance(one, OSError) and _NO_CA_FILE in str(one):  # requests' words, before anything is sent
            return ServiceError(ErrorKind.TLS_VERIFICATION, f"the certificate authorities are not there: {one}")
    for one in chain(error):
        if isinstance(one, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return ServiceError(ErrorKind.ENDPOINT_GONE, "the connection broke off")
        if isinstance(one, ssl.SSLError):
            return ServiceError(ErrorKind.TLS_VERIFICATION, f"TLS failed: {_reason(one)}")
        if isinstance(one, socket.gaierror):
            return ServiceError(ErrorKind.ENDPOINT_GONE, f"its name cannot be resolved: {one.strerror}")
        if isinstance(one, TimeoutError):
            return ServiceError(ErrorKind.ENDPOINT_GONE, "it does not respond (timed out)")
        if isinstance(one, ConnectionError):
            return ServiceError(ErrorKind.ENDPOINT_GONE, f"the connection failed: {one.strerror or one}")
    return None


def manner_of(error: BaseException) -> str | None:
    """How the way to a service failed; None where it was not the way, such as a response that is an error."""
    for one in chain(error):
        if isinstance(one, socket.gaierror):
            return "name"
        if isinstance(one, ConnectionRefusedError):
            return "refused"
        if isinstance(one, ConnectionError | ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return "reset"
        if isinstance(one, TimeoutError):
            return "timeout"
        if isinstance(one, OSError) and one.errno in _UNREACHABLE:
            return "unreachable"
    return None


def _reason(error: ssl.SSLError) -> str:
    """Only those that OpenSSL raised have its words as attributes."""
    return str(getattr(error, "verify_message", None) or getattr(error, "reason", None) or error)


def chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and all that it was made of: causes, contexts, and exceptions among its arguments."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        # urllib3 and botocore keep what they wrap under these names.
        inner = (getattr(one, name, None) for name in ("reason", "error", "inner_exception"))
        waiting += [*one.args, *inner, one.__cause__, one.__context__]

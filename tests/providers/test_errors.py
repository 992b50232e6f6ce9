"""Errors: one line with the service, what happened and what to do; what the network had to do with it is found."""

import socket
import ssl

import pytest

from vmtrace.providers.errors import BudgetError, ErrorKind, ServiceError, chain, transport_error


def wrapped(inner: BaseException) -> Exception:
    try:
        try:
            raise inner
        except BaseException as error:
            raise ValueError("the SDK says") from error
    except ValueError as outer:
        return outer


def test_a_line_names_the_service_the_trouble_and_the_remedy() -> None:
    error = ServiceError(ErrorKind.CLOCK_SKEW, "RequestTimeTooSkewed:\n the difference is too large")
    assert error.shown("s3 (https://x)") == (
        "s3 (https://x): RequestTimeTooSkewed: the difference is too large: "
        "set this machine's clock (NTP), then run again"
    )
    assert ServiceError(ErrorKind.OTHER, "odd").shown("s3") == "s3: odd"


@pytest.mark.parametrize(
    ("inner", "kind"),
    [
        (ConnectionRefusedError(111, "Connection refused"), ErrorKind.ENDPOINT_GONE),
        (ConnectionResetError(104, "Connection reset by peer"), ErrorKind.ENDPOINT_GONE),
        (TimeoutError("timed out"), ErrorKind.ENDPOINT_GONE),
        (socket.gaierror(-2, "Name or service not known"), ErrorKind.ENDPOINT_GONE),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), ErrorKind.TLS_VERIFICATION),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), ErrorKind.TLS_VERIFICATION),
        (OSError("Could not find a suitable TLS CA certificate bundle, invalid path: /x"), ErrorKind.TLS_VERIFICATION),
        (BudgetError("no more"), ErrorKind.BUDGET),
    ],
)
def test_what_an_sdk_has_wrapped_is_found(inner: Exception, kind: ErrorKind) -> None:
    found = transport_error(wrapped(inner))
    assert found is not None
    assert found.kind == kind


def test_what_has_nothing_to_do_with_the_network_is_not_found() -> None:
    assert transport_error(ValueError("x")) is None


def test_exceptions_are_found_among_arguments_and_rings_end() -> None:
    inner = OSError(5, "io")
    outer = ValueError("x", inner)
    inner.__cause__ = outer
    assert list(chain(outer)) == [outer, inner]

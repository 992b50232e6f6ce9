"""A service of AWS, asked through boto3: again while it is busy, every exchange kept, every trouble one line.

The only place where boto3 is imported. Credentials are boto3's alone; nothing of them is kept, and should an answer
repeat one of them, it is redacted.
"""

import re
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from vmtrace.capture.bounded import NoEndError, bounded
from vmtrace.cloudwatch.backoff import Backoff
from vmtrace.cloudwatch.errors import CloudWatchError, UsageError
from vmtrace.cloudwatch.records import Record, one_line
from vmtrace.cloudwatch.trouble import NO_CREDENTIALS, client_error_line, is_passing, library_error_line

if TYPE_CHECKING:
    import boto3
    from botocore.client import BaseClient

CONNECT_S, READ_S = 10, 60
CALL_S = 120.0
"""A whole call: a response that drips is broken off, too."""
_BROKEN_CONNECTIONS = 3
_OF_NONSENSE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError)
"""Whatever botocore's parsers raise at an answer that has not the form it should have."""
_URL = re.compile(r"https?://[^/@\s?#]+(/[^@\s?#]*)?")


@dataclass(frozen=True, slots=True)
class Account:
    """Who asks, and where: what boto3 is told. None leaves it to boto3's own configuration."""

    region: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    endpoint_url: str | None = None

    def checked(self) -> "Account":
        """Itself; `UsageError` for an endpoint that is no plain URL: a password in it would be written into files."""
        if self.endpoint_url is not None and not _URL.fullmatch(self.endpoint_url):
            raise UsageError("--endpoint-url: must be like https://host:port, without a user, a password or a query")
        return self


@dataclass
class Service:
    """CloudWatch, for one account and region."""

    client: "BaseClient"
    region: str
    secrets: Callable[[], tuple[str, ...]]
    backoff: Backoff = field(default_factory=Backoff)
    tell: Callable[[str], object] = lambda _: None
    call_s: float = CALL_S
    exchanges: list[Record] = field(default_factory=list)
    """Every request that was answered, with its answer, as they were."""

    def ask(self, operation: str, request: Record) -> Record:
        """The answer of an operation, like `get_metric_data`; `CloudWatchError` if there is none."""
        response = self._persistently(operation, request)
        metadata = response.pop("ResponseMetadata", None)
        kept = response | {"RequestId": metadata.get("RequestId")} if isinstance(metadata, dict) else response
        exchange = {"operation": _title(operation), "time_ns": time.time_ns(), "request": request, "response": kept}
        self.exchanges.append(exchange)
        return response

    def redact(self, text: str) -> str:
        """The text without the credentials in use, wherever somebody repeated them."""
        return _without(text, self.secrets())

    def _persistently(self, operation: str, request: Record) -> Record:
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
        from botocore.parsers import ResponseParserError

        for attempt in range(1, self.backoff.attempts + 1):
            last = attempt == self.backoff.attempts
            try:
                return self._cleaned(self._called(operation, request))
            except NoEndError as error:
                raise self._failure(operation, f"no complete response: {error}") from None
            except ClientError as error:
                response = self._cleaned(error.response)
                if last or not is_passing(response):
                    raise self._failure(operation, client_error_line(_permission(operation), response)) from None
            except HTTPClientError as error:  # the connection broke, or no answer came in time
                # What is put may have arrived, and must not be put twice.
                if operation.startswith("put_") or attempt >= min(_BROKEN_CONNECTIONS, self.backoff.attempts):
                    raise self._failure(operation, library_error_line(error)) from None
            except BotoCoreError as error:
                raise self._failure(operation, library_error_line(error)) from None
            except (ResponseParserError, *_OF_NONSENSE) as error:
                line = f"the response is malformed ({type(error).__name__}: {one_line(self.redact(str(error)))})"
                raise self._failure(operation, line) from None
            self.tell(f"{_title(operation)}: the service is busy, attempt {attempt + 1}")
            self.backoff.wait(attempt)
        raise AssertionError("the last attempt returns or raises")

    def _called(self, operation: str, request: Record) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = bounded(partial(getattr(self.client, operation), **request), self.call_s)
        return answer

    def _cleaned(self, answer: Mapping[str, Any]) -> Record:
        """An answer without the credentials, before anybody keeps, shortens or shows any of it."""
        secrets = self.secrets()
        return {name: _changed(value, lambda text: _without(text, secrets)) for name, value in answer.items()}

    def _failure(self, operation: str, line: str) -> CloudWatchError:
        return CloudWatchError(f"CloudWatch {_title(operation)} in {self.region}: {self.redact(line)}")


def open_service(account: Account, tell: Callable[[str], object] = lambda _: None) -> Service:
    """CloudWatch for an account, with its credentials found; nothing is asked of it yet."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError as error:
        raise CloudWatchError(f"boto3 is needed ({error}): {sys.executable} -m pip install boto3") from None
    account.checked()
    try:
        session = boto3.Session(profile_name=account.profile, region_name=account.region)
        if account.role_arn is not None:
            session = _in_role(session, account.role_arn)
        # Asking again is `Backoff`'s: one place, the same for all that can pass.
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=CONNECT_S, read_timeout=READ_S)
        if session.get_credentials() is None:
            raise CloudWatchError(f"CloudWatch: {NO_CREDENTIALS}")
        client = session.client("cloudwatch", endpoint_url=account.endpoint_url, config=config)
    except ClientError as error:
        line = client_error_line("sts:AssumeRole", _as_record(error.response))
        raise CloudWatchError(f"role {account.role_arn}: {line}") from None
    except BotoCoreError as error:
        raise CloudWatchError(f"CloudWatch: {library_error_line(error)}") from None
    except ValueError as error:
        raise CloudWatchError(f"CloudWatch: {one_line(error)}") from None
    return Service(client, client.meta.region_name, _secrets_of(session), tell=tell)


def _in_role(session: "boto3.Session", role_arn: str) -> "boto3.Session":
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        ask = partial(session.client("sts").assume_role, RoleArn=role_arn, RoleSessionName="vmtrace")
        answer = bounded(ask, CALL_S)
        credentials = answer["Credentials"]
        return boto3.Session(
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
            region_name=session.region_name,
        )
    except (ClientError, BotoCoreError):
        raise
    except NoEndError as error:
        raise CloudWatchError(f"role {role_arn}: no complete response: {error}") from None
    except (ResponseParserError, *_OF_NONSENSE) as error:
        # The type alone: what could not be parsed may hold the credentials.
        raise CloudWatchError(f"role {role_arn}: the response is malformed ({type(error).__name__})") from None


def _secrets_of(session: "boto3.Session") -> Callable[[], tuple[str, ...]]:
    """All that were in use so far: credentials are renewed, and an answer may repeat the old ones."""
    from botocore.exceptions import BotoCoreError

    seen = set[str]()

    def secrets() -> tuple[str, ...]:
        # Renewing them can fail; then those in use are known already, and the failure is told by who asks for more.
        with suppress(BotoCoreError):
            credentials = session.get_credentials()
            frozen = credentials.get_frozen_credentials() if credentials is not None else None
            found = (frozen.secret_key, frozen.token, frozen.access_key) if frozen is not None else ()
            # Short ones are no secrets of AWS's but words, which may stand in any text.
            seen.update(one for one in found if one and len(one) >= 8)
        return tuple(seen)

    secrets()
    return secrets


def _without(text: str, secrets: tuple[str, ...]) -> str:
    for secret in secrets:
        text = text.replace(secret, "(credential)")
    return text


def _changed(value: object, change: Callable[[str], str]) -> object:
    """The same with all texts in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(str(name)): _changed(one, change) for name, one in value.items()}
    return [_changed(one, change) for one in value] if isinstance(value, list) else value


def _as_record(answer: Mapping[str, Any]) -> Record:
    return dict(answer)


def _title(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))


def _permission(operation: str) -> str:
    return f"cloudwatch:{_title(operation)}"

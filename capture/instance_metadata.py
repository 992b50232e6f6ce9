"""What an EC2 instance is, by its metadata service (IMDSv2: a token first, then the questions).

Asked only where the machine says of itself that it is an EC2 instance: elsewhere anybody may sit at that address. Even
there an answer is a stranger's input: limited in size and time, and only plain words are taken. No proxy, no redirect.
`VMTRACE_METADATA` overrides: `never`, `force` (ask wherever this runs), or the URL of another service.
"""

from __future__ import annotations

import os
import re
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SETTING = "VMTRACE_METADATA"
LIMIT_S = 1.0

_SERVICES = (("169.254.169.254", 80), ("fd00:ec2::254", 80))
_TOKEN_PATH = "/latest/api/token"
_QUESTIONS = {
    "instance_id": "instance-id",
    "instance_type": "instance-type",
    "ami_id": "ami-id",
    "life_cycle": "instance-life-cycle",
    "region": "placement/region",
    "availability_zone": "placement/availability-zone",
    "availability_zone_id": "placement/availability-zone-id",
    "placement_group": "placement/group-name",
    "partition_number": "placement/partition-number",
    "host_id": "placement/host-id",
}
_MOST_BYTES = 16_384  # of an answer with its headers
_WORD = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TOKEN = re.compile(rb"[A-Za-z0-9+/=_-]{1,512}")
_URL = re.compile(r"http://(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?/?")


@dataclass(frozen=True)
class InstanceMetadata:
    """What the service said; None for what it did not, or not in the form that such a value has."""

    provider: str
    instance_id: str | None = None
    instance_type: str | None = None
    ami_id: str | None = None
    life_cycle: str | None = None
    region: str | None = None
    availability_zone: str | None = None
    availability_zone_id: str | None = None
    placement_group: str | None = None
    partition_number: str | None = None
    host_id: str | None = None
    error: str | None = None
    """Why an EC2 instance has no answers, in one line."""

    def as_record(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def instance_metadata(root: Path = Path("/")) -> InstanceMetadata | None:
    """The facts of this instance, within `LIMIT_S`; None at once on a host that is none of EC2's."""
    services = _services_to_ask(os.environ.get(SETTING, ""), root)
    if not services:
        return None
    deadline_s = time.monotonic() + LIMIT_S
    error = ""
    for number, service in enumerate(services):
        # A service that swallows packets must leave time for the other.
        share_s = (deadline_s - time.monotonic()) / (len(services) - number)
        answers, error = _ask_service(service, time.monotonic() + share_s, deadline_s)
        if answers is not None:
            return InstanceMetadata("aws", **answers, error=error or None)
    return InstanceMetadata("aws", error=error)


def check_setting() -> None:
    """Raise `ValueError` for a `VMTRACE_METADATA` that makes no sense: to be told before a run begins, not in it."""
    _services_to_ask(os.environ.get(SETTING, ""), Path("/"))


def is_ec2(root: Path = Path("/")) -> bool:
    """Whether firmware or hypervisor say that this is an EC2 instance."""
    if _read(root / "sys/class/dmi/id/sys_vendor") == "Amazon EC2":
        return True
    identifiers = ("sys/hypervisor/uuid", "sys/class/dmi/id/product_uuid")  # Xen's; the other is for root alone
    return any(_read(root / name).lower().startswith("ec2") for name in identifiers)


def _services_to_ask(setting: str, root: Path) -> tuple[tuple[str, int], ...]:
    if setting == "never":
        return ()
    if setting == "force":
        return _SERVICES
    if setting:
        match = _URL.fullmatch(setting)
        if match is None or int(match.group(3) or 80) > 65_535:
            raise ValueError(f"{SETTING}={setting}: must be never, force, or a URL like http://127.0.0.1:8080")
        return ((match.group(1) or match.group(2), int(match.group(3) or 80)),)
    return _SERVICES if is_ec2(root) else ()


def _ask_service(
    service: tuple[str, int], token_deadline_s: float, deadline_s: float
) -> tuple[dict[str, str | None] | None, str]:
    """All answers, or None, and what went wrong."""
    try:
        lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        token = _request(service, "PUT", _TOKEN_PATH, lifetime, token_deadline_s)
    except OSError as error:
        return None, f"metadata service at {service[0]}: {error}"
    if token is None or not _TOKEN.fullmatch(token):
        return None, f"metadata service at {service[0]}: gave no token"
    answers: dict[str, str | None] = {}
    headers = {"X-aws-ec2-metadata-token": token.decode("ascii")}
    try:
        for name, path in _QUESTIONS.items():
            answer = _request(service, "GET", f"/latest/meta-data/{path}", headers, deadline_s)
            answers[name] = answer.decode("ascii") if answer is not None and _WORD.fullmatch(answer) else None
    except OSError as error:
        return answers, f"metadata service at {service[0]}: {error}"
    return answers, ""


def _request(
    service: tuple[str, int], method: str, path: str, headers: dict[str, str], deadline_s: float
) -> bytes | None:
    """The body of an answer with status 200, None for any other answer; OSError when none comes in time."""
    host = f"[{service[0]}]" if ":" in service[0] else service[0]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}:{service[1]}", "Connection: close", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.socket(socket.AF_INET6 if ":" in service[0] else socket.AF_INET, socket.SOCK_STREAM) as connection:
        connection.settimeout(_left_s(deadline_s))
        connection.connect(service)
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
        answer = b""
        while len(answer) <= _MOST_BYTES and not _is_complete(answer):
            connection.settimeout(_left_s(deadline_s))
            block = connection.recv(4096)
            if not block:
                break
            answer += block
    return _body(answer)


def _is_complete(answer: bytes) -> bool:
    """Whether all bytes that the answer announces are here: a service need not close the connection."""
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *([0-9]{1,6}) *(?:\r\n|$)", head, re.IGNORECASE)
    return bool(end) and length is not None and len(body) >= int(length.group(1))


def _body(answer: bytes) -> bytes | None:
    head, end, body = answer.partition(b"\r\n\r\n")
    if len(answer) > _MOST_BYTES or not end or not re.match(rb"HTTP/1\.[01] 200[ \r]", head + b"\r\n"):
        return None
    return body if re.search(rb"\r\ntransfer-encoding:", head, re.IGNORECASE) is None else None


def _left_s(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError(f"no answer within {LIMIT_S:g} s")
    return left_s


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""  # no such firmware table, or for root alone

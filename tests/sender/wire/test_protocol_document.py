"""docs/security.md and docs/security.md say what the code does."""

import re
import struct
from dataclasses import fields
from pathlib import Path

from vmtrace.receiver import session, settings, transfer_desk
from vmtrace.receiver.command import build_parser
from vmtrace.receiver.session import Session
from vmtrace.sender.wire import channel, control, data_connection, endpoint, handshake, records, stream_life

ROOT = Path(__file__).parents[3]
PROTOCOL = (ROOT / "docs/security.md").read_text()
SECURITY = (ROOT / "docs/security.md").read_text()


def test_sizes_of_the_first_bytes_are_those_of_the_code() -> None:
    sizes = {name: int(size) for name, size in re.findall(r"^\S+ -> \S+ +(\w+) +(\d+) bytes", PROTOCOL, re.MULTILINE)}
    assert sizes == {"HELLO": handshake.HELLO_BYTES, "AUTH": handshake.AUTH_BYTES, "ACCEPT": handshake.ACCEPT_BYTES}
    for line in re.findall(r"^\S+ -> .*", PROTOCOL, re.MULTILINE):
        parts = [int(size) for size in re.findall(r"\((\d+)\)", line)]
        magic = 8 if "VMTRACE" in line else 4
        assert magic + sum(parts) == int(re.findall(r"(\d+) bytes", line)[0])
    assert f"version {handshake.VERSION}\n" in PROTOCOL


def test_the_subject_and_done_are_as_described() -> None:
    subject = re.search(r"which stream it is: (.*?)\.\n", PROTOCOL, re.DOTALL)
    assert subject is not None
    assert sum(int(size) for size in re.findall(r"\((\d+)[):]", subject[1])) == handshake.SUBJECT_BYTES
    packed = data_connection.pack_subject(data_connection.Stream(b"n" * 16, 0x01020304, 0x0506, "download"))
    assert packed == b"n" * 16 + b"\1\2\3\4\5\6\1" + bytes(9)
    assert data_connection._DONE.pack(b"DONE", 0, 5) == b"DONE" + bytes(4) + struct.pack(">Q", 5)
    assert f"`DONE` ({data_connection._DONE.size} bytes)" in PROTOCOL


def test_every_operation_is_named_and_no_other() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", PROTOCOL, re.MULTILINE))
    assert named == set(Session.__new__(Session)._handlers())


def test_status_numbers_and_labels_are_those_of_the_code() -> None:
    statuses = re.search(r"status: (.*?)\. Only", PROTOCOL)
    assert statuses is not None
    numbers = [int(number) for number in re.findall(r"\b(\d)\b", statuses[1])]
    assert numbers == [
        handshake.ACCEPTED,
        handshake.REFUSED_KEY,
        handshake.REFUSED_VERSION,
        handshake.REFUSED_BUSY,
        handshake.REFUSED_SUBJECT,
    ]
    code = "".join(path.read_text() for path in (ROOT / "sender/wire").glob("*.py"))
    labels = set(re.findall(r'b"(vmtrace 1 [a-z ]+)"', code))
    assert labels == set(re.findall(r'"(vmtrace 1 [a-z ]+)"', PROTOCOL))


def test_times_and_limits_are_those_of_the_code() -> None:
    limits = settings.ReceiverSettings(Path()).limits
    admission = settings.AdmissionLimits()
    for text in (
        f"after {admission.introduction_s:g} s",
        f"{control._ANSWER_S:g}; `describe` {control._DESCRIBING_S:g}, `finish` 120",
        f"by the other side | {channel._SENDING_S:g}",
        f"control connection | {session._SILENCE_S:g},",
        f"without a byte moved | {transfer_desk._STALL_S:g}",
        f"established data connection | {stream_life._CONNECTING_S:g}",
        f"{limits.transfer_s:g}, {limits.session_s:.0f} (`--max-transfer-time`, `--max-session-time`)",
        f"at least every {control._SILENCE_S} s",
        f"1 to {channel.LONGEST_BYTES}",
        f"to {transfer_desk._LARGEST_NUMBER};",
        f"waits {transfer_desk._LAST_STREAMS_S:g} s",
        f"({endpoint.DEFAULT_PORT} by default)",
    ):
        assert text in PROTOCOL, text
    assert f"{admission.unproven_of_address} of one origin, {admission.unproven} in all" in SECURITY
    assert f"try {admission.wrong_keys}, then wait a minute" in SECURITY
    assert admission.wrong_key_pause_s == 60
    assert f"{transfer_desk._LARGEST_RANDOM_BYTES >> 20} MiB of random bytes" in SECURITY


def test_records_named_in_the_protocol_exist_with_these_fields() -> None:
    for name in re.findall(r"`([A-Z][a-z]+[A-Z]\w+)`", PROTOCOL):
        assert hasattr(records, name.removesuffix("s")) or hasattr(records, name), name
    assert [field.name for field in fields(records.RunRequest)] == ["run_id", "capture", "capture_snaplen"]


def test_every_limit_is_documented_with_its_default() -> None:
    documented = dict(re.findall(r"^\| `(--max-[a-z-]+)` \| (\d+) \|", SECURITY, re.MULTILINE))
    actual = {
        option: str(action.default)
        for action in build_parser()._actions
        for option in action.option_strings
        if option.startswith("--max-")
    }
    assert documented == actual


def test_every_test_named_beside_a_claim_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", SECURITY))
    folders = (ROOT / "tests/receiver", ROOT / "tests/sender")
    there = {
        name
        for folder in folders
        for path in folder.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert len(named) > 20
    assert named - there == set()

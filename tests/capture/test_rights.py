"""Without the right to capture there is one line that says what to do."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vmtrace.capture import rights
from vmtrace.capture.errors import CaptureError


def without_the_capability(*words: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv")
    return subprocess.run(
        ["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", sys.executable, *words],
        check=False,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_capture")
def test_the_command_names_the_capability_and_makes_no_file(tmp_path: Path) -> None:
    done = without_the_capability("-m", "vmtrace.capture", "--interface", "lo", "--write", str(tmp_path / "trace.pcap"))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "CAP_NET_RAW" in line
    assert f"setcap cap_net_raw+ep {Path(sys.executable).resolve()}" in line
    assert "sudo" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_capture")
def test_the_question_is_answered_without_capturing() -> None:
    assert rights.missing_rights() is None
    done = without_the_capability("-c", "from vmtrace.capture.rights import missing_rights; print(missing_rights())")
    assert done.stdout.strip() == rights.how_to_grant()


def test_a_kernel_without_packet_sockets_and_a_system_without_libpcap_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_socket(*_: object) -> None:
        raise OSError(97, "Address family not supported by protocol")

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", no_socket)
        assert "no packet sockets" in (rights.missing_rights() or "")

    def no_library() -> None:
        raise CaptureError("capturing needs libpcap")

    monkeypatch.setattr(rights, "library", no_library)
    assert rights.missing_rights() == "capturing needs libpcap"

"""A download that breaks off and is taken up again by the SDK arrives whole, and its repetition is counted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.providers.real_services import SOME
from vmtrace.lab.services import fault_proxy
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.files import craft
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import Target
from vmtrace.providers.services.s3 import FromStart

SIZE = 300_000


@pytest.mark.parametrize("action", [Action.TRUNCATE, Action.RESET])
@pytest.mark.parametrize("provider", SOME)
def test_a_broken_download_arrives_whole(
    provider: str,
    action: Action,
    server_of: Callable[[str], Server],
    chain: Certificates,
    client_of: Callable[[Server], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    breaks_off = Fault(action, "GET", "/object$", after_bytes=123_456)
    with fault_proxy.started(server_of(provider), [breaks_off], chain) as proxy:
        client_of(proxy.service)
        adapter = registry.find(provider)
        service = registry.build(adapter, Target(adapter.name, f"vmtrace-{os.urandom(6).hex()}"))
        (file,) = craft(tmp_path / "files", Workload("one", 1, SIZE), service.part_bytes)
        service.create_container()
        stored = service.upload("object", file)
        sink = DigestSink()
        service.download(stored.reference, sink)
        service.delete([stored.reference])
        service.remove_container()
        service.close()
        assert [one.fault for one in proxy.requests() if one.fault] == [action]
    assert (sink.size_bytes, sink.sha256()) == (SIZE, file.sha256)
    assert capsys.readouterr() == ("", "")


def test_bytes_pass_once_however_often_the_object_is_begun() -> None:
    sink = DigestSink()
    passing = FromStart(sink)
    for parts in ([b"abc"], [b"ab", b"cdef"], [b"abcdefg"], [b"abcdefg", b"h"]):
        passing.begin()
        for part in parts:
            assert passing.write(part) == len(part)
    whole = DigestSink()
    whole.write(b"abcdefgh")
    assert (sink.size_bytes, sink.sha256()) == (8, whole.sha256())

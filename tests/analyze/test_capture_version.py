"""The version of a capture is another one as soon as the file is."""

import os
from pathlib import Path

from vmtrace.analyze.read.capture_version import version_of


def test_a_file_that_grew_or_was_written_anew_has_another_version(tmp_path: Path) -> None:
    file = tmp_path / "one.pcap"
    file.write_bytes(b"1234")
    first = version_of(str(file))
    assert first.size_bytes == 4
    file.write_bytes(b"12345")
    assert version_of(str(file)).size_bytes == 5

    os.utime(file, ns=(1, 1))
    assert version_of(str(file)).state == "1" != first.state

"""Provenance of a table written now: this host, and this process's command unless another is named."""

import platform
import shlex
import sys

from vmtrace.capture.provenance import provenance
from vmtrace.formats.provenance import vmtrace_version


def test_it_names_this_host_and_this_command() -> None:
    found = provenance("vmtrace.host/1", 1.5)
    assert (found.schema, found.interval_s, found.vmtrace) == ("vmtrace.host/1", 1.5, vmtrace_version())
    assert (found.host, found.kernel) == (platform.node(), platform.release())
    assert found.command == shlex.join(sys.argv)
    assert provenance("x", None, "vmtrace send").command == "vmtrace send"

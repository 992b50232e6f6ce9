"""Offload is what ethtool says it is."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.capture.traffic import inside
from vmtrace.capture.offload import Offload, read_offload
from vmtrace.lab import namespaces


def test_what_is_not_there_has_none() -> None:
    assert read_offload("none7") == read_offload("any") == Offload(None, None, None, None)
    assert Offload(tso=True).as_record() == {"tso": True, "gso": None, "gro": None, "lro": None}


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("wanted", ["on", "off"])
def test_it_is_as_ethtool_set_it(veth: tuple[str, str], wanted: str) -> None:
    if shutil.which("ethtool") is None:
        pytest.skip("needs ethtool")
    ethtool = ["ip", "netns", "exec", veth[0], "ethtool"]
    namespaces.run_program([*ethtool, "-K", "veth0", "tso", wanted, "gso", wanted, "gro", wanted])
    with inside(veth[0]):
        offload = read_offload("veth0")
    said = namespaces.run_program([*ethtool, "-k", "veth0"])
    names = {"tso": "tcp-segmentation", "gso": "generic-segmentation", "gro": "generic-receive", "lro": "large-receive"}
    for key, name in names.items():
        match = re.search(rf"^{name}-offload: (on|off)", said, re.MULTILINE)
        assert match
        assert offload.as_record()[key] is (match[1] == "on")
    assert offload.gro is (wanted == "on")

"""The cable joins two hosts, and nothing of it is left."""

import subprocess
from pathlib import Path

import pytest

from bench import cable
from vmtrace.lab import namespaces


@pytest.mark.root
@pytest.mark.untimed
def test_the_ends_reach_each_other_and_are_gone_afterwards() -> None:
    missing = namespaces.missing_requirement()
    if missing:
        pytest.skip(missing)
    with cable.joined(("198.18.7.1", "198.18.7.2")) as names:
        neighbours = "import socket; socket.create_connection(('198.18.7.2', 9), 2)"
        words = [*namespaces.exec_prefix(names[0]), "python3", "-c", neighbours]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "ConnectionRefusedError" in done.stderr  # an answer from the other end, where nobody listens
    assert not any((Path("/run/netns") / name).exists() for name in names)

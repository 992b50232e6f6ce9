"""Counters belong to one namespace, and only their movement is kept."""

from __future__ import annotations

import socket

import pytest

from vmtrace.lab import kernel_counters, namespaces
from vmtrace.lab.kernel_counters import added


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("real_hosts")
def test_counters_and_connections_are_the_namespace_s_own() -> None:
    name = namespaces.namespace_name("counters", 0)
    namespaces.create(name)
    try:
        before = kernel_counters.read(name)
        with namespaces.inside(name):
            listener = socket.create_server(("127.0.0.1", 0))
            near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
        listener.close()
        assert kernel_counters.open_connections(name) == 2
        for end in (near, far):
            end.close()
        moved = added(before, kernel_counters.read(name))
        assert (moved["ActiveOpens"], moved["PassiveOpens"]) == (1, 1)
        assert kernel_counters.open_connections(name) == 0
    finally:
        namespaces.delete(name)


def test_counters_that_did_not_move_are_left_out() -> None:
    assert added({"RetransSegs": 3, "InSegs": 5}, {"RetransSegs": 4, "InSegs": 5, "TCPTimeouts": 1}) == {
        "RetransSegs": 1,
        "TCPTimeouts": 1,
    }

"""A run over two hosts: halves of plans, what the sending host must know, and the packets between them."""

import json
import socket
from pathlib import Path

import pytest

from vmtrace.providers.errors import ProvidersError, UsageError
from vmtrace.providers.queues.plan import Kind, QueuePlan, Role, Stage
from vmtrace.providers.queues.two_hosts import ClockLink, Half, address_of, half_of, read_other, whole_plan

PLAN = QueuePlan("p", (Stage("a", Kind.FLOW, 10, 5.0, senders=2, receivers=3, deleters=4),))
KEY = b"k" * 32


def test_each_host_has_its_processes() -> None:
    roles = {half: {role for role, _ in half_of(PLAN, half).stages[0].crew()} for half in Half}
    assert roles == {Half.SEND: {Role.SENDER}, Half.RECEIVE: {Role.RECEIVER, Role.DELETER}}
    assert not half_of(PLAN, Half.SEND).stages[0].receives


@pytest.mark.parametrize("stage", [Stage("put", Kind.PUT, 5), Stage("fast", Kind.FLOW, 5)])
def test_a_stage_that_is_no_flow_at_a_rate_is_not_divided(stage: Stage) -> None:
    with pytest.raises(UsageError, match=stage.name):
        half_of(QueuePlan("p", (stage,)), Half.SEND)


def test_the_sending_host_knows_plan_and_key(tmp_path: Path) -> None:
    state = {"schema": "vmtrace.queue_run/1", "half": "receive", "plan": half_of(PLAN, Half.RECEIVE).as_record()}
    (tmp_path / "run.json").write_text(json.dumps(state))
    with pytest.raises(UsageError, match="key"):
        read_other(tmp_path)
    (tmp_path / "key").write_text("ab" * 32 + "\n")
    other = read_other(tmp_path)
    assert other.key == "ab" * 32
    assert half_of(whole_plan(other, PLAN), Half.SEND) == half_of(PLAN, Half.SEND)


@pytest.mark.parametrize("half", [None, "send"])
def test_another_run_is_no_receiving_one(tmp_path: Path, half: str | None) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"schema": "vmtrace.queue_run/1", "half": half}))
    with pytest.raises(ProvidersError, match="--only receive"):
        read_other(tmp_path)


@pytest.mark.parametrize("text", ["5050", "host:", "host:0", "host:70000", "host:x"])
def test_an_address_without_a_port_is_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        address_of(text)


@pytest.mark.parametrize(("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)])
def test_who_has_not_the_key_gets_no_packet(host: str, family: socket.AddressFamily) -> None:
    with socket.create_server((host, 0), family=family) as probe:
        address = probe.getsockname()[:2]
    with ClockLink(Half.RECEIVE, address, KEY):
        with socket.create_connection(address, 5) as stranger:
            stranger.sendall(b"x" * 32)
            assert stranger.recv(1) == b""
        with socket.create_connection(address, 5) as holder:
            link = ClockLink(Half.SEND, address, KEY)
            holder.sendall(link._mark)
            assert holder.recv(32) == link._mark

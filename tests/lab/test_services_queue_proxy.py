"""The script of the queue proxy, SQS's messages edited by it, and ElasticMQ behind it."""

import os
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest

from vmtrace.lab.services import elasticmq, queue_proxy
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.queue_faults import (
    Fate,
    Marks,
    Rule,
    Script,
    acknowledged,
    entries_of,
    from_json,
    marks_of,
    to_json,
    without,
)
from vmtrace.lab.services.service import Service

BODY = "vmtrace1.0123456789abcdef.7.100.200.0123456789abcdef.---"


def test_marks_are_read_in_our_messages_alone() -> None:
    assert marks_of(BODY) == Marks(7, 100, 200)
    assert [marks_of(body) for body in ("", "hello", "vmtrace1.x.y.z.0.s.-", "other.0.1.2.3.4.5")] == [None] * 4


def test_a_rule_is_used_up() -> None:
    script = Script([Rule(7, Fate.THROTTLE, times=2)])
    assert [script.applies(7, Fate.THROTTLE) is not None for _ in range(3)] == [True, True, False]
    assert script.applies(7, Fate.DROP) is None
    assert script.applies(8, Fate.THROTTLE) is None


def test_a_script_reads_back() -> None:
    rules = [Rule(1, Fate.HOLD, 0.5), Rule(2, Fate.DROP)]
    assert from_json(to_json(rules)) == rules


def test_dropped_entries_are_left_out_and_acknowledged() -> None:
    batch = {"QueueUrl": "u", "Entries": [{"Id": "0", "MessageBody": "a"}, {"Id": "1", "MessageBody": "b"}]}
    assert without("SendMessageBatch", batch, {0}) == {"QueueUrl": "u", "Entries": [{"Id": "1", "MessageBody": "b"}]}
    assert without("SendMessageBatch", batch, {0, 1}) is None
    assert without("SendMessage", {"MessageBody": "a"}, {0}) is None
    answer = acknowledged("SendMessageBatch", {"Successful": [{"Id": "1"}]}, [batch["Entries"][0]])  # type: ignore[list-item]
    assert [one["Id"] for one in answer["Successful"]] == ["1", "0"]
    assert acknowledged("SendMessage", {}, [{"MessageBody": "a"}])["MD5OfMessageBody"] == (
        "0cc175b9c0f1b6a831c399e269772661"
    )
    assert entries_of("SendMessage", {"MessageBody": "a"}) == [{"MessageBody": "a"}]


def test_the_proxy_does_as_scripted_and_logs_it(
    moto_service: Service, chain: Certificates, client_of: Callable[[Service], None]
) -> None:
    with queue_proxy.started(moto_service, [Rule(7, Fate.REPEAT), Rule(8, Fate.DROP)], chain) as proxy:
        client_of(proxy.service)
        client = boto3.session.Session().client("sqs")
        url = client.create_queue(QueueName=f"q-{os.urandom(4).hex()}")["QueueUrl"]
        for number in (7, 8):
            client.send_message(QueueUrl=url, MessageBody=BODY.replace(".7.", f".{number}."))
        bodies = [one["Body"] for _ in range(4) for one in client.receive_message(QueueUrl=url).get("Messages", [])]
        client.delete_queue(QueueUrl=url)
        client.close()
        assert bodies == [BODY, BODY]
        found = [(one.what, one.number, one.dropped) for one in proxy.passed()]
    assert found == [("sent", 7, False), ("sent", 8, True), ("delivered", 7, False), ("delivered", 7, False)]


@pytest.mark.slow
@pytest.mark.may_skip
def test_elasticmq_runs_behind_the_proxy(
    chain: Certificates, client_of: Callable[[Service], None], tmp_path: Path
) -> None:
    reason = elasticmq.missing_requirement()
    if reason:
        pytest.skip(reason)
    with elasticmq.started(chain) as server, queue_proxy.started(server, [], chain) as proxy:
        client_of(proxy.service)
        client = boto3.session.Session().client("sqs")
        url = client.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
        client.send_message(QueueUrl=url, MessageBody=BODY)
        (message,) = client.receive_message(QueueUrl=url)["Messages"]
        assert message["Body"] == BODY
        (again,) = client.receive_message(QueueUrl=url, WaitTimeSeconds=5)["Messages"]
        assert again["MessageId"] == message["MessageId"]
        client.close()
        assert [one.what for one in proxy.passed()] == ["sent", "delivered", "delivered"]

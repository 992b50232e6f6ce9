"""Queue plans: built in, from TOML, changed by options, and fitted to a service's limits."""

from pathlib import Path

import pytest

from vmtrace.providers.errors import UsageError
from vmtrace.providers.queues import registry
from vmtrace.providers.queues.changes import changed
from vmtrace.providers.queues.order import fitted
from vmtrace.providers.queues.plan import LARGEST, Kind, QueuePlan, Role, Stage, plan_of_record
from vmtrace.providers.queues.plans import BUILT_IN, GARFINKEL2007, YOON, load_plan, plan_of_toml

FLOW = Stage("flow", Kind.FLOW, 100, 10.0)


def test_the_plan_of_2007_puts_and_takes_ten_thousand_messages_by_one_and_by_the_largest_batch() -> None:
    puts = [stage for stage in GARFINKEL2007.stages if stage.kind == Kind.PUT]
    takes = [stage for stage in GARFINKEL2007.stages if stage.kind == Kind.TAKE]
    assert {stage.messages for stage in puts} == {10_000}
    assert {stage.send_batch for stage in puts} == {1, LARGEST}
    assert {stage.receive_batch for stage in takes} == {1, LARGEST}
    assert {stage.senders for stage in puts} == {1, 4}


def test_the_latency_plan_has_a_rate_and_a_process_for_each_role() -> None:
    (stage,) = YOON.stages
    assert stage.rate_per_s
    assert {role for role, _ in stage.crew()} == {Role.SENDER, Role.RECEIVER, Role.DELETER}
    assert stage.duration_s == 3600


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_plan_reads_back_from_its_record(name: str) -> None:
    assert plan_of_record(load_plan(name).as_record()) == load_plan(name)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_plans_fit_every_service(name: str) -> None:
    for service in registry.names():
        provider = registry.find(service)
        for stage in fitted(load_plan(name), provider.limits, service).stages:
            assert stage.receive_batch != LARGEST
            assert stage.wait_s <= provider.limits.longest_wait_s


def test_numbers_run_through_all_stages_and_repeats() -> None:
    plan = QueuePlan("p", (FLOW, Stage("take", Kind.TAKE), Stage("put", Kind.PUT, 7)), repeat=2)
    assert plan.first_numbers() == [0, 100, 100, 107, 207, 207]
    assert plan.messages == 214


def test_a_toml_plan_says_everything(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'repeat = 2\n[[stage]]\nname = "a"\nkind = "flow"\nrate = 20\nduration = "1min"\nsize = "4 kB"\n'
        'batch = "largest"\nthreads = 3\nvisibility = "5s"\nwait = 20\nbacklog = 9\n'
        '[[stage]]\nkind = "take"\nreceive_batch = 10\n'
    )
    plan = load_plan(str(path))
    first, second = plan.stages
    assert (plan.name, plan.repeat, plan.messages) == ("mine", 2, 2400)
    assert (first.messages, first.size_bytes, first.send_batch, first.receivers) == (1200, 4000, LARGEST, 3)
    assert (first.visibility_s, first.wait_s, first.backlog) == (5.0, 20.0, 9)
    assert (second.kind, second.receive_batch, second.messages) == (Kind.TAKE, 10, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "stage"),
        ("[[stage]]\nkind = 'pull'", "put, take or flow"),
        ("[[stage]]\nkind = 'put'", "messages"),
        ("[[stage]]\nkind = 'put'\nmessages = 0", "messages"),
        ("[[stage]]\nkind = 'put'\nmessages = 5\nsize = 10", "whole bytes from 96"),
        ("[[stage]]\nkind = 'put'\nmessages = 5\nsize = '2 MiB'", "1 MiB"),
        ("[[stage]]\nkind = 'put'\nmessages = 5\nrat = 3", "did you mean rate"),
        ("[[stage]]\nkind = 'put'\nmessages = 5\nrate = -1", "rate"),
        ("[[stage]]\nkind = 'put'\nmessages = 5\nduration = '1s'", "duration"),
        ("[[stage]]\nkind = 'take'\nmessages = 5", "sends nothing"),
        ("[[stage]]\nkind = 'take'\nwait = 'long'", "wait"),
        ("[[stage]]\nkind = 'take'\nname = 'x'\n[[stage]]\nkind = 'take'\nname = 'x'", "two stages"),
        ("repeat = 10000\n[[stage]]\nkind = 'put'\nmessages = 100000", "at most"),
    ],
)
def test_a_plan_that_cannot_be_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan_of_toml(text.encode(), "x")


def test_a_rate_keeps_the_duration_and_a_duration_the_rate() -> None:
    plan = QueuePlan("p", (FLOW,))
    assert changed(plan, {"rate": "50"}).stages[0].messages == 500
    assert changed(plan, {"rate": "50", "duration": "1min"}).stages[0].messages == 3000
    assert changed(plan, {"rate": "fast"}).stages[0].rate_per_s is None


@pytest.mark.parametrize(
    "words",
    [
        {"rate": "0"},
        {"rate": "fast", "duration": "1min"},
        {"duration": "1min", "messages": "3"},
        {"senders": "0"},
        {"send_batch": "huge"},
        {"size": "1B"},
        {"visibility": "0s"},
        {"wait": "-1s"},
    ],
)
def test_options_that_cannot_be_are_wrong_usage(words: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="--"):
        changed(QueuePlan("p", (FLOW,)), words)


def test_a_message_too_large_for_the_service_is_wrong_usage() -> None:
    azure = registry.find("azure")
    plan = changed(QueuePlan("p", (FLOW,)), {"size": "100 kB"})
    with pytest.raises(UsageError, match="too large: azure-queue takes at most 65,536 bytes"):
        fitted(plan, azure.limits, azure.name)


def test_the_largest_batch_is_bounded_by_the_size_of_a_request() -> None:
    sqs = registry.find("sqs")
    plan = changed(QueuePlan("p", (FLOW,)), {"size": "300 kB", "send_batch": "largest"})
    assert fitted(plan, sqs.limits, sqs.name).stages[0].send_batch == 3
    with pytest.raises(UsageError, match="at most 3"):
        fitted(changed(plan, {"send_batch": "4"}), sqs.limits, sqs.name)


def test_scaling_keeps_at_least_one_message() -> None:
    assert QueuePlan("p", (FLOW,)).scaled(0.0001).messages == 1

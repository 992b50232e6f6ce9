"""A whole run: what it leaves in its folder, and that it leaves nothing at the service, whatever happens."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.providers.fakes import Memory
from tests.providers.real_services import SOME
from vmtrace.capture.campaign import End, command_line
from vmtrace.lab.services import fault_proxy
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers.budget import Limits
from vmtrace.providers.campaign import run_campaign
from vmtrace.providers.display import Display
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError
from vmtrace.providers.order import Order
from vmtrace.providers.plan import Plan, Workload
from vmtrace.providers.prices import load_prices
from vmtrace.providers.transfer import Job

PLAN = Plan("small", (Workload("one", 1, 3000), Workload("three", 3, 100)), repeat=2)


def order(out: Path, **more: Any) -> Order:
    """Without packets, and (`any` has no counters) without waiting for an interface to be quiet."""
    plain = {"provider": "fake", "plan": PLAN, "capture": False, "interface": "any", "metadata": False}
    return Order(out=out, **{**plain, **more})


def run(out: Path, **more: Any) -> End:
    return run_campaign(order(out, **more), Display())


def lines(out: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / f"{name}.jsonl").read_text().splitlines()]


def test_every_workload_is_uploaded_downloaded_and_removed_in_every_repeat(memory: Memory, tmp_path: Path) -> None:
    out = tmp_path / "run"
    end = run(out)
    assert (end.status, end.error) == ("complete", None)
    assert memory.containers == {}
    shown = [
        (one["transaction"], one["workload"], one["repeat"], one["direction"]) for one in lines(out, "transactions")
    ]
    assert shown == [
        (1, "one", 1, "upload"), (2, "one", 1, "download"), (3, "three", 1, "upload"), (4, "three", 1, "download"),
        (5, "one", 2, "upload"), (6, "one", 2, "download"), (7, "three", 2, "upload"), (8, "three", 2, "download"),
    ]  # fmt: skip
    objects = lines(out, "objects")
    assert len(objects) == 2 * 2 * 4
    assert {one["outcome"] for one in objects} == {"done"}
    assert all(one["digest_ok"] for one in objects)
    up, down = objects[0], objects[1]
    assert (up["direction"], down["direction"], up["digest"]) == ("upload", "download", down["digest"])
    assert up["start_ns"] <= up["end_ns"] <= down["start_ns"]
    assert not (out / "files").exists()
    state = json.loads((out / "run.json").read_text())
    assert (state["transactions_planned"], state["transactions_finished"], state["left_behind"]) == (8, 8, [])


def test_each_transaction_has_a_client_and_a_login_of_its_own(memory: Memory, tmp_path: Path) -> None:
    run(tmp_path / "run")
    calls = memory.calls[memory.calls.index("upload") - 1 :]
    assert calls[:8] == ["login", "upload", "close", "login", "download", "close", "delete", "close"]


def test_a_container_that_is_named_is_used_and_stays(memory: Memory, tmp_path: Path) -> None:
    memory.containers["mine"] = {"precious": b"x"}
    end = run(tmp_path / "run", container="mine")
    assert end.error is None
    assert memory.containers == {"mine": {"precious": b"x"}}
    assert not end.state["container_created"]


def test_a_container_that_is_named_and_not_there_ends_the_run_before_it_begins(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", container="mine")
    assert end.status == "failed"
    assert end.error == "fake (http://127.0.0.1:9): mine: create it, name another with --bucket, or leave --bucket out"
    end = run(tmp_path / "again", container="mine", create_container=True)
    assert (end.status, memory.containers) == ("complete", {})


def test_a_name_clash_leaves_what_is_there_alone(memory: Memory, tmp_path: Path) -> None:
    memory.containers["mine"] = {}
    end = run(tmp_path / "run", container="mine", create_container=True)
    assert end.state["error_kind"] == "name_clash"
    assert memory.containers == {"mine": {}}
    assert end.state["left_behind"] == []


@pytest.mark.parametrize(
    "kind", [ErrorKind.EXPIRED_TOKEN, ErrorKind.CLOCK_SKEW, ErrorKind.QUOTA, ErrorKind.CREDENTIALS]
)
def test_what_will_not_get_better_ends_the_run_and_keeps_what_was_measured(
    memory: Memory, tmp_path: Path, kind: ErrorKind
) -> None:
    memory.faults["0003/00002"] = ServiceError(kind, "refused")
    end = run(tmp_path / "run")
    assert end.status == "failed"
    assert end.error is not None
    assert end.error.startswith("fake (http://127.0.0.1:9): ")
    assert end.state["error_kind"] == kind
    assert [one["status"] for one in lines(tmp_path / "run", "transactions")] == ["complete", "complete", "failed"]
    assert lines(tmp_path / "run", "objects")[-1]["error_kind"] == kind
    assert memory.containers == {}


def test_a_metadata_setting_that_makes_no_sense_is_reported_before_anything_is_made(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VMTRACE_METADATA", "yes")
    with pytest.raises(ValueError, match="VMTRACE_METADATA=yes: must be never"):
        run(tmp_path / "run", metadata=True)
    assert memory.containers == {}
    assert not (tmp_path / "run").exists()


def test_what_was_made_is_removed_also_after_a_defect(memory: Memory, tmp_path: Path) -> None:
    class Defective(Display):
        def transaction_begins(self, job: Job) -> None:
            raise ZeroDivisionError(f"transaction {job.number}")

    with pytest.raises(ZeroDivisionError):
        run_campaign(order(tmp_path / "run"), Defective())
    assert memory.containers == {}
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert (state["status"], state["error"]) == (
        "failed",
        "fake (http://127.0.0.1:9): ZeroDivisionError: transaction 1",
    )


def test_one_object_that_fails_is_reported_and_the_rest_goes_on(memory: Memory, tmp_path: Path) -> None:
    memory.faults["0003/00002"] = ServiceError(ErrorKind.SERVICE, "InternalError")
    end = run(tmp_path / "run")
    assert end.status == "complete"
    assert end.error is not None
    assert "1 of 8 transactions had failures" in end.error
    third = lines(tmp_path / "run", "transactions")[2]
    assert (third["objects_done"], third["objects_failed"], third["error_kind"]) == (2, 1, "service")
    assert lines(tmp_path / "run", "transactions")[3]["objects_done"] == 2
    assert memory.containers == {}


def test_a_service_that_is_gone_for_good_is_given_up_after_some_transactions(memory: Memory, tmp_path: Path) -> None:
    plan = replace(PLAN, repeat=20)
    memory.faults["upload"] = ServiceError(ErrorKind.ENDPOINT_GONE, "refused")
    end = run(tmp_path / "run", plan=plan)
    assert (end.status, end.state["error_kind"]) == ("failed", "endpoint_gone")
    assert end.state["transactions_finished"] == 3
    assert memory.containers == {}


def test_digests_that_do_not_fit_are_write_errors_and_read_errors(memory: Memory, tmp_path: Path) -> None:
    memory.wrong_digest.add("0001/00001")
    memory.corrupt.add("0003/00003")
    end = run(tmp_path / "run")
    objects = lines(tmp_path / "run", "objects")
    wrong = [(one["transaction"], one["outcome"], one["error_kind"]) for one in objects if one["outcome"] != "done"]
    assert wrong == [(1, "write_error", "digest"), (4, "read_error", "digest")]
    assert end.state["transactions_failed"] == 2


def test_ctrl_c_removes_everything_and_keeps_what_was_measured(memory: Memory, tmp_path: Path) -> None:
    memory.faults["0003/00002"] = KeyboardInterrupt
    end = run(tmp_path / "run")
    assert end.status == "interrupted"
    assert memory.containers == {}
    assert [one["status"] for one in lines(tmp_path / "run", "transactions")][-1] == "interrupted"
    assert lines(tmp_path / "run", "objects")[-1]["error"] == "interrupted"


def test_what_cannot_be_removed_is_named(memory: Memory, tmp_path: Path) -> None:
    memory.faults["delete"] = ServiceError(ErrorKind.ENDPOINT_GONE, "refused")
    end = run(tmp_path / "run")
    names = [one["name"] for one in end.state["left_behind"]]
    assert len(names) == 8 + 1
    assert names[-1] == end.state["container"]
    assert all(one["error"] == "refused" for one in end.state["left_behind"])


def test_a_run_stops_before_its_budget_is_exceeded(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", limits=Limits(max_bytes=5999))
    assert (end.status, end.state["transactions_finished"]) == ("budget", 0)
    assert end.error is not None
    assert "--max-bytes" in end.error
    assert memory.containers == {}


def test_a_limit_of_charges_needs_prices_of_the_service(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(ProvidersError, match="the charges of fake are unknown"):
        run(tmp_path / "run", limits=Limits(max_cost=1.0), prices=load_prices("bocchi2014"))
    assert not (tmp_path / "run").exists()


def test_a_folder_in_use_is_refused_before_the_service_is_asked(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ProvidersError, match="there is something in this folder"):
        run(tmp_path)
    assert [call for call in memory.calls if call != "close"] == []


# Against real servers, with packets.


def real(out: Path, server: Server, client_of: Callable[[Server], None], provider: str, **more: Any) -> End:
    client_of(server)
    return run(out, provider=provider, **more)


@pytest.mark.root
@pytest.mark.untimed
def test_a_run_over_a_real_service_has_every_packet_of_every_connection(
    swift_service: Server, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    before = swift_service.connections_accepted()
    plan = Plan("p", (Workload("five", 5, 20_000),))
    end = real(tmp_path / "run", swift_service, client_of, "s3", plan=plan, capture=True, interface="lo")
    assert (end.status, end.error) == ("complete", None)
    import pyarrow

    import vmtrace

    for transaction in lines(tmp_path / "run", "transactions"):
        capture = transaction["capture"]
        assert (capture["dropped"], capture["error"]) == (0, None)
        assert capture["start_ns"] < transaction["login"]["start_ns"]
        assert capture["end_ns"] > transaction["end_ns"]
        logged = {
            use["local"]
            for one in (transaction["login"], *lines(tmp_path / "run", "objects"))
            if one is transaction["login"] or one["transaction"] == transaction["transaction"]
            for use in one["connections"]
        }
        trace = vmtrace.read(str(tmp_path / "run" / capture["file"]))
        assert set(pyarrow.table(trace.connections)["client"].to_pylist()) == logged
        assert transaction["login"]["connections"][0]["opened"] is True
    assert end.state["front_ends"] == [f"127.0.0.1:{swift_service.port}"]
    assert swift_service.connections_accepted() > before


@pytest.mark.parametrize("provider", SOME)
def test_retries_of_each_sdk_are_counted_and_shown_by_direction(
    provider: str,
    server_of: Callable[[str], Server],
    chain: Certificates,
    client_of: Callable[[Server], None],
    tmp_path: Path,
) -> None:
    rules = [
        Fault(Action.STATUS, "PUT", "0001/00001", status=503),
        Fault(Action.RESET, "PUT", "0001/00002"),
        Fault(Action.STATUS, "GET", "0001/00001", status=500),
    ]
    options = {"azure-blob": {"initial_backoff": "0"}}.get(provider, {})
    with fault_proxy.started(server_of(provider), rules, chain) as proxy:
        plan = Plan("p", (Workload("two", 2, 50_000),))
        end = real(tmp_path / "run", proxy.service, client_of, provider, plan=plan, options=options)
        assert [request.fault for request in proxy.requests() if request.fault] == [
            Action.STATUS,
            Action.RESET,
            Action.STATUS,
        ]
    assert (end.status, end.error) == ("complete", None)
    shown = {(one["direction"], one["object"]): one for one in lines(tmp_path / "run", "objects")}
    assert {key: (one["retries"], one["retry_causes"], one["outcome"]) for key, one in shown.items()} == {
        ("upload", 1): (1, {"503": 1}, "done"),
        ("upload", 2): (1, {"connection": 1}, "done"),
        ("download", 1): (1, {"500": 1}, "done"),
        ("download", 2): (0, {}, "done"),
    }
    assert [one["retries"] for one in lines(tmp_path / "run", "transactions")] == [2, 1]


@pytest.mark.parametrize("provider", SOME)
def test_a_body_that_was_changed_on_its_way_is_a_read_error(
    provider: str,
    server_of: Callable[[str], Server],
    chain: Certificates,
    client_of: Callable[[Server], None],
    tmp_path: Path,
) -> None:
    rules = [Fault(Action.CORRUPT, "GET", "0001/00001", after_bytes=1000)]
    with fault_proxy.started(server_of(provider), rules, chain) as proxy:
        plan = Plan("p", (Workload("one", 1, 50_000),))
        end = real(tmp_path / "run", proxy.service, client_of, provider, plan=plan)
    assert [one["outcome"] for one in lines(tmp_path / "run", "objects")] == ["done", "read_error"]
    assert end.state["error_kind"] == "digest"


def test_an_endpoint_that_goes_away_is_reported_with_what_is_left(
    swift_service: Server, chain: Certificates, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    rules = [Fault(Action.RESET, None, "0001", times=1000), Fault(Action.RESET, "POST", "delete", times=1000)]
    with fault_proxy.started(swift_service, rules, chain) as proxy:
        plan = Plan("p", (Workload("two", 2, 50_000),))
        options = {"max_attempts": "2"}
        end = real(tmp_path / "run", proxy.service, client_of, "s3", plan=plan, options=options)
    assert (end.status, end.state["error_kind"]) == ("failed", "endpoint_gone")
    assert end.error is not None
    assert proxy.service.endpoint_url in end.error
    (first,) = lines(tmp_path / "run", "transactions")
    assert (first["status"], first["objects_done"], first["objects_failed"]) == ("failed", 0, 1)


def test_bodies_never_exceed_the_budget_even_when_an_sdk_repeats_them(
    swift_service: Server, chain: Certificates, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    rules = [Fault(Action.RESET, "PUT", "0001/00001", times=2)]
    with fault_proxy.started(swift_service, rules, chain) as proxy:
        plan = Plan("p", (Workload("one", 1, 50_000),))
        limits = Limits(max_bytes=120_000)
        end = real(tmp_path / "run", proxy.service, client_of, "s3", plan=plan, limits=limits)
        puts = [request for request in proxy.requests() if request.method == "PUT" and "0001/" in request.target]
    assert (end.status, len(puts)) == ("budget", 2)
    assert end.state["used"]["uploaded_bytes"] == 100_000
    assert end.state["left_behind"] == []


def test_the_command_line_can_be_given_to_a_shell_again() -> None:
    assert command_line(["storage", "run", "--out", "my run"]) == "vmtrace storage run --out 'my run'"

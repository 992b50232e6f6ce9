"""A whole run on loopback: what is written, what is told, what goes on without rights, tools, or replies."""

import json
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.providers.dns_stand_in import Answer, code, given, serving
from tests.providers.test_discovery_certificates import tls_server
from vmtrace.formats.schemas import DISCOVERY_RUN as SCHEMA
from vmtrace.lab.services.certificates import Certificates
from vmtrace.providers.discovery.display import Display, LineDisplay, choose
from vmtrace.providers.discovery.distances import Spacing
from vmtrace.providers.discovery.names import Target
from vmtrace.providers.discovery.order import DiscoveryOrder, Repeats
from vmtrace.providers.discovery.resolvers import Position, Resolver
from vmtrace.providers.discovery.resolving import Asking
from vmtrace.providers.discovery.running import DiscoveryEnd, discover
from vmtrace.providers.errors import ProvidersError

NAME = "localhost"


def order(resolvers: Sequence[Resolver], out: Path, port: int, chain: Certificates) -> DiscoveryOrder:
    return DiscoveryOrder(
        targets=(Target(NAME, "lab", "here", "Here", "Dublin", "IE", "DUB"),),
        resolvers=tuple(resolvers),
        out=out,
        vantage="test",
        position=Position(53.3, -6.2),
        asking=Asking(200.0, 100.0, 0.5, 2),
        port=port,
        ca_bundle=chain.ca_path,
        spacing=Spacing(2, 0.01),
        traceroute=False,
        capture=False,
    )


def ran(answers: Sequence[Answer], out: Path, chain: Certificates, **changes: Any) -> DiscoveryEnd:
    with ExitStack() as stack:
        port = stack.enter_context(tls_server(chain))
        resolvers = [stack.enter_context(serving(one)) for one in answers]
        return discover(replace(order(resolvers, out, port, chain), **changes), Display())


def lines(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{name}.jsonl").read_text().splitlines()]


def test_a_run_writes_each_result_as_a_line(chain: Certificates, tmp_path: Path) -> None:
    end = ran([given("127.0.0.1"), given("127.0.0.1", "127.0.0.2")], tmp_path / "run", chain)
    assert (end.status, end.error, end.found) == ("complete", None, 2)
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert (state["schema"], state["status"], state["rounds"]) == (SCHEMA, "complete", 1)
    assert (state["questions"], state["replied"]) == (4, 4)  # A and AAAA of each resolver
    assert [one["status"] for one in lines(tmp_path / "run", "answers")].count("answered") == 2
    assert {one["trusted"] for one in lines(tmp_path / "run", "certificates")} >= {True}
    trips = [one for one in lines(tmp_path / "run", "round_trips") if one["method"] == "tcp"]
    assert {one["front_end"] for one in trips} >= {"127.0.0.1"}
    assert {one["address"] for one in lines(tmp_path / "run", "reverse_names")} <= {"127.0.0.1", "127.0.0.2"}


def test_files_are_readable_by_their_owner_alone(chain: Certificates, tmp_path: Path) -> None:
    ran([given("127.0.0.1")], tmp_path / "run", chain)
    files = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_lying_resolver_is_set_aside_and_its_addresses_are_not_measured(chain: Certificates, tmp_path: Path) -> None:
    end = ran([given("127.0.0.1"), given("127.0.0.1"), given("127.0.0.9")], tmp_path / "run", chain)
    (aside,) = end.state["set_aside"]
    assert "127.0.0.9 for localhost" in aside["reason"]
    assert {one["front_end"] for one in lines(tmp_path / "run", "round_trips")} == {"127.0.0.1"}


def test_names_that_do_not_resolve_end_the_run_with_the_reason(chain: Certificates, tmp_path: Path) -> None:
    end = ran([code("NXDOMAIN")], tmp_path / "run", chain)
    assert end.status == "failed"
    assert end.error is not None
    assert "no name has an address" in end.error


def test_resolvers_that_are_silent_end_the_run_with_the_reason(chain: Certificates, tmp_path: Path) -> None:
    end = ran([lambda _question, _over_tcp: None], tmp_path / "run", chain)
    assert end.error is not None
    assert "no resolver replied" in end.error


def test_ipv6_alone_is_a_front_end_like_any(chain: Certificates, tmp_path: Path) -> None:
    end = ran([given("::1")], tmp_path / "run", chain)
    assert (end.status, end.found) == ("complete", 1)
    assert {one["address"] for one in lines(tmp_path / "run", "certificates")} == {"::1"}


def test_a_thousand_addresses_are_kept_and_few_measured(chain: Certificates, tmp_path: Path) -> None:
    many = [f"127.{high}.{low}.1" for high in range(1, 5) for low in range(250)]

    def answer(question: Any, over_tcp: bool) -> Any:
        full: Any = given(*many)(question, over_tcp)
        return full if over_tcp else full.truncate()

    end = ran([answer], tmp_path / "run", chain, most_measured=4)
    assert (end.status, end.found) == ("complete", 1000)
    assert len({one["front_end"] for one in lines(tmp_path / "run", "round_trips")}) == 4
    assert any("996 of 1,000 addresses are not measured" in note for note in end.state["notes"])


def test_rounds_are_repeated_and_find_what_is_new(chain: Certificates, tmp_path: Path) -> None:
    turn = 0

    def answer(question: Any, over_tcp: bool) -> Any:
        nonlocal turn
        turn += 1
        return given("127.0.0.1" if turn <= 2 else "127.0.0.2")(question, over_tcp)

    end = ran([answer], tmp_path / "run", chain, repeats=Repeats(0.5, 0.6))
    assert (end.state["rounds"], end.found) == (2, 2)
    assert {one["round"] for one in lines(tmp_path / "run", "answers")} == {1, 2}


def test_without_a_traceroute_tool_the_rest_goes_on(
    chain: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    end = ran([given("127.0.0.1")], tmp_path / "run", chain, traceroute=True)
    assert end.status == "complete"
    assert any("neither scamper nor mtr" in note for note in end.state["notes"])
    assert lines(tmp_path / "run", "traces") == []


@pytest.mark.root
@pytest.mark.untimed
def test_packets_are_recorded_and_an_interface_that_is_not_there_is_reported(
    chain: Certificates, tmp_path: Path
) -> None:
    end = ran([given("127.0.0.1")], tmp_path / "run", chain, capture=True)
    (capture,) = end.state["captures"]
    assert capture["written"] >= 6
    assert (tmp_path / "run" / capture["file"]).exists()
    end = ran([given("127.0.0.1")], tmp_path / "other", chain, capture=True, interface="nosuch0")
    assert (end.status, end.state["captures"]) == ("complete", [])
    assert any("no packets recorded" in note for note in end.state["notes"])


def test_a_folder_with_something_in_it_is_refused(chain: Certificates, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine").write_text("precious")
    with pytest.raises(ProvidersError, match="something in this folder"):
        ran([given("127.0.0.1")], tmp_path / "run", chain)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]


def test_steps_are_lines_and_progress_is_rare(capsys: pytest.CaptureFixture[str]) -> None:
    display = LineDisplay()
    display.step("first")
    for _ in range(100):
        display.progress("some")
    display.ended()
    assert capsys.readouterr().err == "first\n"
    assert type(choose(quiet=True)) is Display
    assert isinstance(choose(quiet=False), LineDisplay)

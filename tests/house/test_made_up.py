"""What is added in one place shows everywhere: a made-up plan option, column of a table, and storage provider.

A made-up field of the analysis is in `test_json_document.py`. Each test adds the thing as its one declaration does, and
looks where a user would meet it.
"""

import dataclasses
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.pages import data_of
from tests.analyze.reports import report_of
from vmtrace.analyze.reports.capture import write
from vmtrace.analyze.tables import human_table
from vmtrace.analyze.tables.table import Cell, Column
from vmtrace.analyze.trace import read
from vmtrace.commands.rooms import COMMANDS
from vmtrace.providers import plans, registry, services
from vmtrace.providers.kind import SURGE
from vmtrace.providers.kinds.surge_plan import GARFINKEL2007_SURGE, SurgePlan
from vmtrace.providers.plan_options import keys_of, option, whole
from vmtrace.providers.plans import PLANS, plan_of_toml
from vmtrace.providers.queues import changes
from vmtrace.providers.queues import plan as queue_plan
from vmtrace.providers.queues import plans as queue_plans
from vmtrace.providers.queues.plan import Kind, QueuePlan, Stage, plan_of_record
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.socket_options import check_options, set_options
from vmtrace.sender import plan_record as pair_plan
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan_view import plan_table
from vmtrace.sender.wire import socket_options
from vmtrace.sender.wire.fields import to_json
from vmtrace.sender.wire.records import TransferRequest
from vmtrace.sender.wire.socket_options import SocketOptions

ROOT = Path(__file__).parents[2]
MADE_UP: Any = option("made_up", whole(9), 1, what="what was made up")


def help_of(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `--help` prints, in one line."""
    with pytest.raises(SystemExit):
        COMMANDS[words[0]].parser(words[0]).parse_args([*words[1:], "--help"])
    return " ".join(capsys.readouterr().out.split())


def test_an_option_of_a_storage_plan_is_declared_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from vmtrace.commands import storage_run

    made_up = dataclasses.make_dataclass(
        "MadeUp", [("made_up", int, MADE_UP)], bases=(SurgePlan,), frozen=True, slots=True
    )
    base = made_up(**{one.name: getattr(GARFINKEL2007_SURGE, one.name) for one in dataclasses.fields(SurgePlan)})
    monkeypatch.setitem(PLANS, SURGE, made_up)
    monkeypatch.setitem(plans._BASES, SURGE, base)
    text = b'kind = "surge"\nmade_up = 7\n'
    assert plan_of_toml(text, "mine").as_record()["made_up"] == 7
    with pytest.raises(ValueError, match="made_up: expected a whole number from 1 to 9"):
        plan_of_toml(b'kind = "surge"\nmade_up = 10\n', "mine")
    assert "--made-up N surge: what was made up" in help_of("storage", "run", capsys=capsys)
    path = tmp_path / "mine.toml"
    path.write_bytes(text)
    words = ["run", "--provider", "s3", "--out", "x", "--plan", str(path), "--made-up", "3"]
    arguments = COMMANDS["storage"].parser("storage").parse_args(words)
    assert storage_run._plan(arguments).as_record()["made_up"] == 3


def test_an_option_of_a_queue_plan_is_declared_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up = dataclasses.make_dataclass("MadeUp", [("made_up", int, MADE_UP)], bases=(Stage,), frozen=True, slots=True)
    for module in (queue_plan, queue_plans):
        monkeypatch.setattr(module, "Stage", made_up)
    plan = queue_plans.plan_of_toml(b"[[stage]]\nkind = 'put'\nmessages = 5\nmade_up = 7\n", "mine")
    assert plan.as_record()["stages"][0]["made_up"] == 7
    assert plan_of_record(plan.as_record()) == plan
    changed = changes.changed(QueuePlan("x", (made_up("a", Kind.PUT, 5),)), {"made_up": "3"})
    assert changed.as_record()["stages"][0]["made_up"] == 3
    assert "--made-up N what was made up" in help_of("queue", "run", capsys=capsys)


def test_an_option_of_connection_pairs_is_declared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One declaration: a plan, `run.json`, its preview, the request, both ends' sockets and the receiver have it."""
    was_set: list[int] = []
    declaration: Any = socket_options.option(
        "made up",
        lambda _, value: was_set.append(value),
        least=1,
        most=9,
        preview="made up {}",
        refusal=lambda value: None if value < 7 else f"{value} is too much here",
    )
    fields = [("made_up", int | None, declaration)]
    made_up = dataclasses.make_dataclass("MadeUp", fields, bases=(SocketOptions,), frozen=True)
    monkeypatch.setattr(pair_plan, "SocketOptions", made_up)
    entries = [{"probe": "1kB", "data": {"bytes": 5, "made_up": 3}}]
    plan = pair_plan.plan_from_record({"transfer": {"made_up": 7}, "entries": entries})
    record = pair_plan.plan_record(plan)
    assert (record["entries"][0]["probe"]["made_up"], record["entries"][0]["data"]["made_up"]) == (7, 3)
    assert pair_plan.plan_from_record(record) == plan
    with pytest.raises(SenderError, match=r"transfer\.made_up: expected a whole number from 1 to 9"):
        pair_plan.plan_from_record({"transfer": {"made_up": 10}, "entries": entries})
    assert "made up 7" in plan_table(plan)
    probe, data = plan.entries[0].probe.options, plan.entries[0].data.options
    assert to_json(TransferRequest(1, 1, "data", 5, options=data))["options"]["made_up"] == 3
    with socket.socket() as sock:
        socket_options.apply_options(sock, probe)
        set_options(sock, data)
    assert was_set == [7, 3]
    with pytest.raises(Refusal, match="7 is too much here"):
        check_options(probe)
    check_options(data)


def test_every_option_of_connection_pairs_is_documented() -> None:
    page = (ROOT / "docs/run-folder.md").read_text()
    assert [name for name in socket_options.declared(SocketOptions) if f"`{name}`" not in page] == []


def test_every_option_of_a_plan_is_documented() -> None:
    pages = {Stage: "docs/queue.md"} | dict.fromkeys(PLANS.values(), "docs/run-folder.md")
    undocumented = [
        f"{page}: {key}"
        for plan, page in pages.items()
        for key in keys_of(plan)
        if not re.search(rf"`{key}`|^{key} = |#.*\b{key}\b", (ROOT / page).read_text(), re.MULTILINE)
    ]
    assert undocumented == []


def test_a_column_of_the_connections_is_declared_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made_up: Column[dict[str, Any]] = Column(
        "made up", lambda row: Cell(f"m{row['id']}", row["id"]), absent="it is the first"
    )
    monkeypatch.setattr(human_table, "COLUMNS", (*human_table.COLUMNS, made_up))
    monkeypatch.setattr(write, "COLUMNS", human_table.COLUMNS)
    trace = read(ROOT / "samples/rotated-1.pcap")
    report_of(trace, tmp_path / "r.html", [1])
    data = data_of((tmp_path / "r.html").read_text())
    place = [one["title"] for one in data["fields"]].index("made up")
    assert (data["rows"][0]["cells"][place], data["rows"][0]["keys"][place]) == ("m1", 1)
    wide = human_table.summary_text(trace, limit=3, width=200)
    assert "made up" in wide
    cards = human_table.summary_text(trace, limit=3, width=30)
    assert "made up" in cards
    assert "<th>made up</th>" in human_table.summary_html(trace)


def test_a_storage_provider_is_one_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from vmtrace import completion

    (tmp_path / "made_up.py").write_text(
        '"""A store that was made up."""\n'
        'EXTRA, OPTIONS = "storage", {"colour": "of the store"}\n\n\n'
        "def build(target):\n    return target.container\n\n\n"
        "def error_of(error):\n    return error\n"
    )
    monkeypatch.setattr(services, "__path__", [*services.__path__, str(tmp_path)])
    try:
        assert "made-up" in registry.names()
        provider = registry.find("made")
        assert provider.options == {"colour": "of the store"}
        assert "made-up" in help_of("storage", "run", capsys=capsys)
        assert "made-up" in set(completion._NAMES["provider of storage"]())
    finally:
        sys.modules.pop(f"{services.__name__}.made_up", None)

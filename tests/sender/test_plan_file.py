"""Plans from files: what the documentation shows is read, and nonsense is one clear line with its place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Entry, TransferPlan
from vmtrace.sender.plan_file import load_plan, plan_of_text
from vmtrace.sender.plans import BUILT_IN, LEE2011
from vmtrace.sender.wire.socket_options import SocketOptions

DOCUMENT = Path(__file__).parents[2] / "docs/run-folder.md"
KIB, MIB = 1024, 1024 * 1024

TABLE_1 = """
I_0	16	8	3
I_1	16	16	3
I_2	32	16	3
I_3	64	16	3
I_4	64	32	3
I_5	512	8	3
I_6	512	16	3
I_7	1024	16	3
I_8	1024	16	3
I_9	2048	32	3
"""


def example() -> str:
    found = re.search(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found is not None
    return found.group(1)


def test_lee2011_is_table_1_of_the_paper() -> None:
    rows = [line.split("\t") for line in TABLE_1.split("\n") if line]
    assert LEE2011.entries == tuple(
        Entry(index, int(pairs), TransferPlan(int(probe) * KIB), TransferPlan(int(data) * MIB))
        for index, probe, data, pairs in rows
    )
    assert (LEE2011.pairs_planned, BUILT_IN["lee2011"]) == (30, LEE2011)


def test_the_example_of_the_documentation_is_read_as_it_says() -> None:
    plan = plan_of_text(example().encode(), False, "file")
    assert (plan.name, plan.repeat, plan.ip_version) == ("window-and-streams", 20, 4)
    one, four = plan.entries
    cubic = SocketOptions(congestion_control="cubic")
    assert one == Entry(
        "one-stream", 3, TransferPlan(64 * KIB, options=cubic), TransferPlan(16 * MIB, options=cubic), 2.0
    )
    assert (four.pairs, four.gap_s) == (1, 0.5)
    assert four.probe.options == SocketOptions(congestion_control="cubic", mss_bytes=1400, dscp=10)
    expected = SocketOptions(congestion_control="cubic", receive_buffer_bytes=4 * MIB)
    assert four.data == TransferPlan(64_000_000, "download", 4, tls=True, options=expected)


def test_every_key_that_is_read_is_documented() -> None:
    from vmtrace.sender import plan_record as module

    text = DOCUMENT.read_text()
    keys = {*module._PLAN_KEYS, *module._ENTRY_KEYS, *module._transfer_keys()} - {"scale"}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_a_plan_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(tomllib.loads(example())))
    assert load_plan(str(path)) == plan_of_text(example().encode(), False, "plan")


def test_a_plan_file_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('entries = [{probe = 1, data = "2 kB"}]')
    plan = load_plan(str(path))
    assert (plan.name, plan.entries) == ("mine", (Entry("I_0", 1, TransferPlan(1), TransferPlan(2000)),))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "entries: expected a list of 1 to 10,000 entries ([[entries]] in TOML)"),
        ("entries = []", "entries: expected a list of 1 to 10,000 entries ([[entries]] in TOML)"),
        ("entries = [1]", "entries[0]: expected a table, not 1"),
        ("entries = [{data = 1}]", "entries[0].probe: missing"),
        ("entries = [{probe = 1, data = {}}]", "entries[0].data.bytes: missing"),
        (
            "entries = [{probe = 1, data = {bytes = -5}}]",
            "entries[0].data.bytes: expected a whole number from 1 to 1,125,899,906,842,624, not -5",
        ),
        ("entries = [{probe = 1, data = 1.5}]", "entries[0].data: expected a table, not 1.5"),
        (
            "entries = [{probe = 1, data = '5 parsecs'}]",
            "entries[0].data.bytes: '5 parsecs' is not a size: write bytes",
        ),
        ("entries = [{probe = 1, data = '0.3 B'}]", "entries[0].data.bytes: '0.3 B' is not a whole number of bytes"),
        (
            "entries = [{probe = 1, data = 1, pairs = 0}]",
            "entries[0].pairs: expected a whole number from 1 to 1,000,000",
        ),
        (
            "entries = [{probe = 1, data = 1, pairs = true}]",
            "entries[0].pairs: expected a whole number from 1 to 1,000,000",
        ),
        ("entries = [{probe = 1, data = 1, pears = 1}]", "entries[0].pears: unknown; it may have index, pairs"),
        ("entries = [{probe = 1, data = 1}]\nrounds = 4", "rounds: unknown; it may have name"),
        ("entries = [{probe = 1, data = 1}]\nrepeat = 2000000", "repeat: expected a whole number from 1 to 1,000,000"),
        ("entries = [{probe = 1, data = 1, pairs = 999}]\nrepeat = 9999", "entries: 9,989,001 pairs, and 1,000,000"),
        ("entries = [{probe = 1, data = 1, gap_s = -1}]", "entries[0].gap_s: expected 0 or more seconds"),
        ("entries = [{probe = 1, data = 1, gap_s = nan}]", "entries[0].gap_s: expected a finite number"),
        ("entries = [{probe = 1, data = 1, gap_s = '2 moons'}]", "entries[0].gap_s: '2 moons' is not a duration"),
        (
            "entries = [{probe = 1, data = {bytes = 1, dscp = 64}}]",
            "entries[0].data.dscp: expected a whole number from 0 to 63",
        ),
        (
            "entries = [{probe = 1, data = {bytes = 1, mss_bytes = 9}}]",
            "entries[0].data.mss_bytes: expected a whole number from 88",
        ),
        ("entries = [{probe = 1, data = {bytes = 1, tls = 'yes'}}]", "entries[0].data.tls: expected true or false"),
        (
            "entries = [{probe = 1, data = {bytes = 1, direction = 'up'}}]",
            "entries[0].data.direction: expected one of upload, download, both, not 'up'",
        ),
        (
            "entries = [{probe = 1, data = {bytes = 1, congestion_control = 'a b'}}]",
            "entries[0].data.congestion_control: expected the kernel's name of an algorithm",
        ),
        (
            "transfer = {streams = 0}\nentries = [{probe = 1, data = 1}]",
            "transfer.streams: expected a whole number from 1 to 1,000",
        ),
        ("transfer = {bytes = 1}\nentries = [{probe = 1, data = 1}]", "transfer.bytes: unknown"),
        ("entries = [{probe=1,data=1,index='a'},{probe=1,data=1,index='a'}]", "entries[1].index: 'a' is the index of"),
        ("entries = [{probe = 1, data = 1}]\nrepeat = 1\nduration_s = 5", "duration_s: a plan has either repeat or"),
        ("entries = [{probe = 1, data = 1}]\nduration_s = 0", "duration_s: must be more than 0"),
        ("entries = [{probe = 1, data = 1}]\nip_version = 5", "ip_version: expected 4 or 6, not 5"),
        ("entries = [{probe = 1, data = 1}]\nbind_address = 'eth0'", "bind_address: expected an address, not 'eth0'"),
        (
            "entries = [{probe = 1, data = 1}]\nbind_interface = '../etc'",
            "bind_interface: expected the name of an interface",
        ),
        ("entries = [{probe = 1, data = 1}]\nscale = 2", "scale: not in a plan file; give --scale X"),
        ("entries = [", "Invalid value (at end of document)"),
    ],
)
def test_nonsense_is_one_line_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(SenderError) as caught:
        load_plan(str(path))
    assert str(caught.value).startswith(f"plan {path}: {line}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "reason"), [("nope", "No such file"), (".", "Is a directory"), ("a\0b", "null byte")])
def test_a_plan_that_cannot_be_read_names_the_built_in_ones(name: str, reason: str) -> None:
    with pytest.raises(SenderError, match=rf"{reason}.*\(a plan is a TOML or JSON file, or one of: lee2011\)"):
        load_plan(name)


def test_text_that_is_not_valid_is_reported_with_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(SenderError, match="byte 8: not UTF-8 text"):
        load_plan(str(path))


def test_a_file_nested_too_deep_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)
    with pytest.raises(SenderError, match=r"deep\.json: "):
        load_plan(str(path))


def test_without_a_reader_of_toml_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.import_module", _refuse)
    with pytest.raises(
        SenderError, match=r"this Python reads no TOML: use Python 3\.11, install tomli, or write .* JSON"
    ):
        plan_of_text(b"", False, "x")


def _refuse(name: str) -> Any:
    raise ImportError(name)


def test_pips_own_reader_serves_where_there_is_no_other() -> None:
    code = (
        "import sys; sys.modules['tomllib'] = sys.modules['tomli'] = None; "
        "from vmtrace.sender.plan_file import plan_of_text; "
        "print(plan_of_text(b'entries = [{probe = 1, data = 2}]', False, 'x').entries[0].data.bytes)"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=False, timeout=60
    )
    assert done.stdout == "2\n", done.stderr

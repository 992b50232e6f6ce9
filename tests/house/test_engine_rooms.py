"""The rooms of the engine stand one above the other, and no two of its files import each other in a circle.

Methods hide such imports: no type may have them in more than three files.

Each floor of an array may use the floors before it, and the rooms of one floor do not know each other. Within a room
files may import each other in any order without a circle. A file that is in no floor fails: it has to have a place.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.rust_source import Import, circles, functions, imports, leaves, product

SOURCES = Path(__file__).parents[2] / "analyze/engine/core/src"

# A room is a folder or a single file; `analyze/engine/core/src/README.md` says what each owns.
TOP = (
    ("link_type", "keyed"),
    ("read",),
    ("packet",),
    ("decode",),
    ("filter", "secrets", "tls"),
    ("dns", "http2", "quic"),
    ("tcp",),
    ("flows",),
    ("analysis",),
    ("output",),
    ("lib",),
)
TCP = (
    ("stats", "kernel"),
    ("events",),
    ("capture", "congestion", "loss", "sender"),
    ("rates", "requests", "rtt"),
    ("direction", "token_bucket", "rows"),
    ("gaps",),
    ("limits",),
    ("connection", "replay"),
    ("summary",),
    ("verdict",),
    ("account", "flow", "outcome", "shared_limits"),
    ("mod",),
)

# A struct whose methods lie in more files hides that these files use each other: no import names it.
MOST_FILES_OF_METHODS = 3
# `impl Name {`, `impl<'a, T: Into<U>> Name<'a, T> {`; of a trait's, `for` stands between.
METHODS = re.compile(r"^impl\b\s*(?:<[^{;]*?>\s+)?([\w:]+)(?:<[^{;]*>)?\s*(?:where\b[^{]*)?\{", re.MULTILINE)

# A parameter through which a function may change all of a connection. Rules take the groups that they change instead:
# the figure only goes down, and whoever lowers it writes the new one here.
CHANGES_ALL = re.compile(r"\b\w+: &mut (?:\w+::)*Connection\b")
FUNCTIONS_THAT_CHANGE_ALL = 20

Floors = tuple[tuple[str, ...], ...]


def sources() -> dict[str, str]:
    return {path.relative_to(SOURCES).as_posix(): path.read_text() for path in SOURCES.rglob("*.rs")}


def room_of(path: str, folder: str) -> str | None:
    """The room of a file below `folder`, none if it lies elsewhere."""
    if not path.startswith(folder):
        return None
    return path.removeprefix(folder).partition("/")[0].removesuffix(".rs")


def rooms_without_floor(files: Mapping[str, str], folder: str, floors: Floors) -> set[str]:
    rooms = {room_of(path, folder) for path in files} - {None}
    return {room for room in rooms if room} ^ {room for floor in floors for room in floor}


def backward(found: set[Import], folder: str, floors: Floors) -> list[str]:
    """Imports that go from a room to one above it, or beside it."""
    level = {room: number for number, floor in enumerate(floors) for room in floor}
    wrong = []
    for each in found:
        user, used = room_of(each.file, folder), room_of(each.of, folder)
        if user is None or used is None or user == used:
            continue
        if level[used] >= level[user]:
            wrong.append(f"{each.file}:{each.line} imports {each.of}")
    return sorted(wrong)


def test_no_files_of_the_engine_import_each_other_in_a_circle() -> None:
    found = imports(sources())
    assert len(found) > 500
    assert circles(found) == []


@pytest.mark.parametrize(("folder", "floors"), [("", TOP), ("tcp/", TCP)], ids=["engine", "tcp"])
def test_each_room_uses_only_rooms_below_it(folder: str, floors: Floors) -> None:
    files = sources()
    assert rooms_without_floor(files, folder, floors) == set()
    assert backward(imports(files), folder, floors) == []


def files_of_methods(files: Mapping[str, str]) -> dict[str, set[str]]:
    """The files in which each type gets methods of its own, not those of a trait. Types of one name count as one."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        for name in METHODS.findall(product(text)):
            found[name.rpartition("::")[2]].add(path)
    return found


def test_methods_of_no_type_are_spread_over_more_than_three_files() -> None:
    found = files_of_methods(sources())
    assert len(found) > 200
    assert {name: sorted(files) for name, files in found.items() if len(files) > MOST_FILES_OF_METHODS} == {}


def changing_all(files: Mapping[str, str]) -> dict[str, int]:
    """By file, the parameters through which functions may change all of a connection."""
    found = {path: len(CHANGES_ALL.findall(product(text))) for path, text in files.items()}
    return {path: count for path, count in found.items() if count}


def test_no_more_functions_may_change_all_of_a_connection() -> None:
    found = changing_all(sources())
    assert sum(found.values()) == FUNCTIONS_THAT_CHANGE_ALL, found


# The rest shows that these tests can fail, on crates made up for it.


def pairs(files: Mapping[str, str]) -> set[tuple[str, str]]:
    return {(each.file, each.of) for each in imports(files)}


def test_a_circle_of_three_is_found() -> None:
    files = {
        "a.rs": "use crate::b::B;",
        "b.rs": "fn f() { crate::c::g() }",
        "c.rs": "use super::a::A;",
        "d.rs": "use crate::a::A;",
    }
    assert circles(imports(files)) == [["a.rs", "b.rs", "c.rs"]]


def test_a_circle_through_a_re_export_is_found() -> None:
    files = {"read/mod.rs": "pub use crate::read::merge::open;", "read/merge.rs": "use crate::read::Record;"}
    assert circles(imports(files)) == [["read/merge.rs", "read/mod.rs"]]


def test_an_import_of_a_later_room_fails_and_one_of_an_earlier_does_not() -> None:
    files = {
        "tcp/stats/sum.rs": "use crate::tcp::flow::table;",
        "tcp/flow/table.rs": "use crate::tcp::stats::sum::Sum;",
    }
    assert backward(imports(files), "tcp/", TCP) == ["tcp/stats/sum.rs:1 imports tcp/flow/table.rs"]


def test_rooms_of_one_floor_do_not_import_each_other() -> None:
    files = {"tcp/loss/a.rs": "\nuse crate::tcp::sender::view::View;", "tcp/sender/view.rs": ""}
    assert backward(imports(files), "tcp/", TCP) == ["tcp/loss/a.rs:2 imports tcp/sender/view.rs"]


def test_a_re_export_hides_no_later_room() -> None:
    files = {
        "tcp/stats/sum.rs": "use crate::tcp::Table;",
        "tcp/mod.rs": "pub use crate::tcp::flow::table::Table;",
        "tcp/flow/table.rs": "",
    }
    assert "tcp/stats/sum.rs:1 imports tcp/flow/table.rs" in backward(imports(files), "tcp/", TCP)


def test_a_room_without_a_floor_fails() -> None:
    files = dict.fromkeys([f"tcp/{room}.rs" for floor in TCP for room in floor], "")
    assert rooms_without_floor(files, "tcp/", TCP) == set()
    assert rooms_without_floor({**files, "tcp/attic/box.rs": ""}, "tcp/", TCP) == {"attic"}


def test_every_way_to_name_a_module_is_understood() -> None:
    tree = "crate::a::{self, b, c::{d as e, f::*}}"
    assert list(leaves(tree)) == [
        (("crate", "a"), "a"),
        (("crate", "a", "b"), "b"),
        (("crate", "a", "c", "d"), "e"),
        (("crate", "a", "c", "f", "*"), "*"),
    ]
    others = {"x/b.rs": "", "x/c.rs": "", "y.rs": ""}
    for text, used in [
        ("use crate::x::{b, c::{D, E}};", {"x/b.rs", "x/c.rs"}),
        ("use super::b::f;", {"x/b.rs"}),
        ("fn f() -> crate::y::Y { super::c::g() }", {"y.rs", "x/c.rs"}),
        ("mod inner { use super::super::b; }", {"x/b.rs"}),
        ('pub(in crate::y) fn f() {} // crate::x::b\n/// [`crate::x::c`]\nconst A: &str = "crate::y";', set()),
        ("#[cfg(test)]\nmod tests { use crate::y::Y; }", set()),
    ]:
        assert {of for file, of in pairs({**others, "x/a.rs": text}) if file == "x/a.rs"} == used, text


def test_a_parent_uses_its_children_by_their_bare_names() -> None:
    assert pairs({"a/mod.rs": "pub mod b;\nfn f() { b::g() }", "a/b.rs": "fn g() {}"}) == {("a/mod.rs", "a/b.rs")}


def test_methods_are_found_and_those_of_traits_left_out() -> None:
    files = {
        "a.rs": "impl A {\n}\nimpl<'a, T: Into<u8>> B<'a, T> {\n}\nimpl Clone for A {\n}",
        "b.rs": "impl crate::a::A {\n}\nimpl<T> From<B<T>> for A {\n}\n#[cfg(test)]\nmod tests {\nimpl B {\n}\n}",
        "c.rs": "// impl A {\nimpl<T> B<T>\nwhere\n    T: Copy,\n{\n}",
    }
    assert files_of_methods(files) == {"A": {"a.rs", "b.rs"}, "B": {"a.rs", "c.rs"}}


def test_parameters_that_change_all_of_a_connection_are_counted() -> None:
    text = "fn a(\n    connection: &mut Connection,\n    b: u8,\n) {}\nfn c(one: &Connection, two: &mut Loops) {}"
    tests = "#[cfg(test)]\nmod tests {\n fn d(connection: &mut Connection) {}\n}\n"
    assert changing_all({"a.rs": text + "\n" + tests, "b.rs": "fn e(f: &mut ConnectionSummary) {}"}) == {"a.rs": 1}


def test_functions_are_measured_from_their_name_to_their_last_brace() -> None:
    text = "fn a(b: [u8; 4]) -> u8 {\n  if b {\n  }\n}\ntrait T { fn c(); }\n#[cfg(test)]\nmod tests {\n fn d() {}\n}\n"
    assert [(each.name, each.line, each.lines) for each in functions(text)] == [("a", 1, 4)]

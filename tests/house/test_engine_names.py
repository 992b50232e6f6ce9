"""Names of the engine's types: who reads one in a file knows which it is."""

import re
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "analyze/engine/core/src"
_TYPE = re.compile(r"^(?:pub(?:\([a-z]+\))? )?(?:struct|enum|type) ([A-Z]\w+)", re.MULTILINE)
MOST_ROOMS = 2


def types() -> Counter[tuple[str, str]]:
    """How often a room (a top folder) defines a type of a name."""
    files = [path for path in SOURCES.rglob("*.rs") if path.parent != SOURCES]
    return Counter(
        (path.relative_to(SOURCES).parts[0], name) for path in files for name in _TYPE.findall(path.read_text())
    )


def test_a_room_has_each_name_once() -> None:
    found = types()
    assert len(found) > 800
    assert sorted(name for name, times in found.items() if times > 1) == []


def test_no_name_stands_in_more_than_two_rooms() -> None:
    rooms = Counter(name for _, name in types())
    assert {name: times for name, times in rooms.items() if times > MOST_ROOMS} == {}

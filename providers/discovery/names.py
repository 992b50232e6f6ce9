"""The names to resolve: host names as given, and the providers' lists of endpoint names by region.

Lists are in `name_lists.toml`, which also says how a user's own file of them is written.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vmtrace.providers.errors import UsageError
from vmtrace.providers.toml_file import load, parsed, refuse_unknown

BUILT_IN = Path(__file__).with_name("name_lists.toml")
MOST_NAMES = 20_000
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_LONGEST_NAME = 253
_REGION_KEYS = ("label", "city", "country", "iata")


@dataclass(frozen=True, slots=True)
class Target:
    """A name, and what its provider says of it; all but the name are None for a name that the user gave."""

    name: str
    provider: str | None = None
    region: str | None = None
    label: str | None = None
    """Of the region, as the provider calls it: the first column of the study's Table I."""
    city: str | None = None
    country: str | None = None
    iata: str | None = None

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return asdict(self)


def targets(words: Sequence[str], extra: Path | None = None, regions: Iterable[str] = ()) -> list[Target]:
    """What to resolve, each name once; raises `UsageError` for a word that is neither a host name nor a list."""
    lists = read_lists(BUILT_IN) | (read_lists(extra) if extra is not None else {})
    wanted = frozenset(regions)
    known = _by_name(lists)
    found: dict[str, Target] = {}
    for word in words:
        for one in _targets_of(word, lists, known):
            found.setdefault(one.name, one)
    kept = [one for one in found.values() if not wanted or one.region is None or one.region in wanted]
    _check(kept, found.values(), wanted)
    return kept


def read_lists(path: Path) -> dict[str, list[Target]]:
    """The lists of a file by their name; raises `UsageError`."""
    return load(path, str(path), "expected a TOML file of name lists: docs/discovery.md", _lists)


def host_name(text: str) -> str:
    """In lower case, without the last dot, as ASCII (IDNA); raises `ValueError` for what is not a host name."""
    name = text.strip().rstrip(".").lower()
    if not name.isascii():
        name = _as_ascii(name)
    labels = name.split(".")
    if len(name) > _LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdecimal():
        raise ValueError(f"{text[:80]!r} is not a host name")
    return name


def _as_ascii(name: str) -> str:
    try:
        return name.encode("idna").decode()
    except UnicodeError:
        raise ValueError(f"{name[:80]!r} is not a host name") from None


def _targets_of(word: str, lists: Mapping[str, list[Target]], known: Mapping[str, Target]) -> list[Target]:
    if word in lists:
        return lists[word]
    if "." not in word.rstrip("."):
        raise UsageError(f"{word!r}: neither a host name nor a list of names: the lists are {', '.join(sorted(lists))}")
    try:
        name = host_name(word)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return [known.get(name, Target(name))]


def _by_name(lists: Mapping[str, list[Target]]) -> dict[str, Target]:
    """A name given by itself is still the provider's: its region is known."""
    return {one.name: one for content in lists.values() for one in content}


def _check(kept: Sequence[Target], found: Iterable[Target], wanted: frozenset[str]) -> None:
    unknown = wanted - {one.region for one in found}
    if unknown:
        there = ", ".join(sorted({one.region for one in found if one.region})) or "none"
        raise UsageError(f"--region {', '.join(sorted(unknown))}: not in the lists named (regions there: {there})")
    if not kept:
        raise UsageError("no name to resolve")
    if len(kept) > MOST_NAMES:
        raise UsageError(f"{len(kept):,} names are more than the {MOST_NAMES:,} that a run resolves")


def _lists(data: bytes) -> dict[str, list[Target]]:
    return {name: _list(name, content) for name, content in parsed(data, "file of name lists").items()}


def _list(name: str, content: object) -> list[Target]:
    if not isinstance(content, dict):
        raise ValueError(f"[{name}] is no table")
    template, regions = content.get("name"), content.get("regions")
    if not isinstance(template, str) or not isinstance(regions, dict) or not regions:
        raise ValueError(f"[{name}] needs a name, as 's3.{{region}}.amazonaws.com', and a table of regions")
    found = []
    for region, said in regions.items():
        host = host_name(template.replace("{region}", region))
        found.append(_with_place(Target(host, provider=name, region=region), said, f"[{name}] region {region}"))
    return found


def _with_place(target: Target, said: object, where: str) -> Target:
    """A region is its label, or a table with `label`, `city`, `country` and `iata`, each of which may be left out."""
    values = {"label": said} if isinstance(said, str) else said
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ValueError(f"{where}: expected a label, or a table with texts: {', '.join(_REGION_KEYS)}")
    refuse_unknown(values, (*_REGION_KEYS, "name"), where)
    named = {key: value for key, value in values.items() if key != "name"}
    return replace(target, name=host_name(values.get("name", target.name)), **named)

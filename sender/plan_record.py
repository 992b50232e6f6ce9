"""Plans as nested tables of plain values (TOML, JSON, `run.json`) to typed plans and back: docs/run-folder.md.

Every value is checked here; a `SenderError` names the place (`entries[3].data.bytes`) and what is due there.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import math
from collections.abc import Iterator, Mapping
from typing import Any, Callable, TypeVar

from vmtrace.formats.quantities import duration_s, size_bytes
from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Entry, Plan, TransferPlan
from vmtrace.sender.wire.records import DIRECTIONS
from vmtrace.sender.wire.socket_options import Option, SocketOptions, declared

_Value = TypeVar("_Value")
_Check = Callable[[object, str], _Value]

MOST_ENTRIES = 10_000
MOST_PAIRS = 1_000_000
MOST_STREAMS = 1_000
MOST_BYTES = 1 << 50
LONGEST_S = 10 * 366 * 86400.0
_LONGEST_NAME = 64
_ENTRY_KEYS = ("index", "pairs", "probe", "data", "gap_s")
_PATH_KEYS = ("ip_version", "bind_address", "bind_interface")
_PLAN_KEYS = (
    "name",
    "scale",
    "repeat",
    "duration_s",
    "fill",
    "seed",
    *_PATH_KEYS,
    "pairs",
    "gap_s",
    "transfer",
    "entries",
)


def plan_from_record(record: object) -> Plan:
    """A plan out of nested tables; raises `SenderError`."""
    table = _table(record, "the plan", _PLAN_KEYS)
    defaults = _table(table.get("transfer", {}), "transfer", _transfer_keys()[1:])
    _checked_transfer({**defaults, "bytes": 1}, "transfer")
    repeat = _optional(table, "repeat", _whole(1, MOST_PAIRS))
    limit_s = _optional(table, "duration_s", _seconds)
    if repeat is not None and limit_s is not None:
        raise SenderError("duration_s: a plan has either repeat or duration_s")
    if limit_s == 0:
        raise SenderError("duration_s: must be more than 0")
    address, interface = _optional(table, "bind_address", _address), _optional(table, "bind_interface", _interface)
    plan = Plan(
        name=_optional(table, "name", _name) or "unnamed",
        entries=tuple(_entries(table, defaults)),
        scale=_optional(table, "scale", _scale) or 1.0,
        repeat=1 if repeat is None and limit_s is None else repeat,
        duration_s=limit_s,
        fill=_fill(table, limit_s),
        seed=_optional(table, "seed", _whole(0, 2**63 - 1)),
        ip_version=_optional(table, "ip_version", _ip_version),
        bind_address=address,
        bind_interface=interface,
    )
    if plan.pairs_per_round * (plan.repeat or 1) > MOST_PAIRS:
        raise SenderError(
            f"entries: {plan.pairs_per_round * (plan.repeat or 1):,} pairs, and {MOST_PAIRS:,} is the most"
        )
    return plan


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan as `run.json` holds it, the scale applied."""
    entries = [
        {
            "index": entry.index,
            "pairs": entry.pairs,
            "probe": _transfer_record(entry.probe),
            "data": _transfer_record(entry.data),
            "gap_s": entry.gap_s,
        }
        for entry in plan.entries
    ]
    names = ("name", "scale", "repeat", "duration_s", "seed", *_PATH_KEYS)
    fill = {"fill": True} if plan.fill else {}
    return {**{name: getattr(plan, name) for name in names}, **fill, "entries": entries}


def _fill(table: Mapping[str, Any], limit_s: float | None) -> bool:
    fill = _optional(table, "fill", _truth) or False
    if fill and limit_s is None:
        raise SenderError("fill: goes with duration_s")
    return fill


def _transfer_record(transfer: TransferPlan) -> dict[str, Any]:
    return {
        "bytes": transfer.bytes,
        "direction": transfer.direction,
        "streams": transfer.streams,
        "tls": transfer.tls,
        **dataclasses.asdict(transfer.options),
    }


def _entries(table: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[Entry]:
    entries = table.get("entries")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_ENTRIES:
        raise SenderError(f"entries: expected a list of 1 to {MOST_ENTRIES:,} entries ([[entries]] in TOML)")
    seen: dict[str, int] = {}
    for position, value in enumerate(entries):
        place = f"entries[{position}]"
        entry = _table(value, place, _ENTRY_KEYS)
        index = _optional(entry, "index", _name, place) or f"I_{position}"
        if seen.setdefault(index, position) != position:
            raise SenderError(f"{place}.index: {index!r} is the index of entries[{seen[index]}] already")
        pairs = _optional(entry, "pairs", _whole(1, MOST_PAIRS), place)
        gap_s = _optional(entry, "gap_s", _seconds, place)
        common_pairs, common_gap_s = (
            _optional(table, "pairs", _whole(1, MOST_PAIRS)),
            _optional(table, "gap_s", _seconds),
        )
        yield Entry(
            index=index,
            pairs=pairs if pairs is not None else common_pairs if common_pairs is not None else 1,
            probe=_transfer(entry, "probe", defaults, place),
            data=_transfer(entry, "data", defaults, place),
            gap_s=gap_s if gap_s is not None else common_gap_s or 0.0,
        )


def _transfer(entry: Mapping[str, Any], part: str, defaults: Mapping[str, Any], place: str) -> TransferPlan:
    place = f"{place}.{part}"
    if part not in entry:
        raise SenderError(f"{place}: missing")
    value = entry[part]
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        value = {"bytes": value}
    table = _table(value, place, _transfer_keys())
    if "bytes" not in table:
        raise SenderError(f"{place}.bytes: missing")
    return _checked_transfer({**defaults, **table}, place)


def _checked_transfer(table: Mapping[str, Any], place: str) -> TransferPlan:
    def optional(key: str, check: _Check[_Value]) -> _Value | None:
        return _optional(table, key, check, place)

    streams = optional("streams", _whole(1, MOST_STREAMS)) or 1
    options = {name: optional(name, _check_of(one)) for name, one in declared(SocketOptions).items()}
    return TransferPlan(
        bytes=max(streams, _size(1, MOST_BYTES)(table["bytes"], f"{place}.bytes")),
        direction=optional("direction", _direction) or DIRECTIONS[0],
        streams=streams,
        tls=optional("tls", _truth) or False,
        options=SocketOptions(**options),
    )


def _transfer_keys() -> tuple[str, ...]:
    return ("bytes", "direction", "streams", "tls", *declared(SocketOptions))


def _table(value: object, place: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise SenderError(f"{place}: expected a table, not {_shown(value)}")
    for key in value:
        if key not in keys:
            raise SenderError(f"{_key_place(place, key)}: unknown; it may have {', '.join(keys)}")
    return value


def _key_place(place: str, key: object) -> str:
    name = str(key) if str(key).isidentifier() else repr(key)[:60]
    return name if place == "the plan" else f"{place}.{name}"


def _optional(table: Mapping[str, Any], key: str, check: _Check[_Value], place: str = "") -> _Value | None:
    value = table.get(key)
    return None if value is None else check(value, f"{place}.{key}" if place else key)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _whole(least: int, most: int) -> _Check[int]:
    def check(value: object, place: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise SenderError(f"{place}: expected a whole number from {least:,} to {most:,}, not {_shown(value)}")
        return value

    return check


def _size(least: int, most: int) -> _Check[int]:
    whole = _whole(least, most)

    def check(value: object, place: str) -> int:
        if not isinstance(value, str):
            return whole(value, place)
        try:
            count = size_bytes(value)
        except ValueError as error:
            raise SenderError(f"{place}: {error}") from error
        return whole(count, place)

    return check


def _seconds(value: object, place: str) -> float:
    if isinstance(value, str):
        try:
            value = duration_s(value)
        except ValueError as error:
            raise SenderError(f"{place}: {error}") from error
    number = _number(value, place)
    if not 0 <= number <= LONGEST_S:
        raise SenderError(f"{place}: expected 0 or more seconds, up to ten years, not {_shown(value)}")
    return number


def _scale(value: object, place: str) -> float:
    number = _number(value, place)
    if number <= 0:
        raise SenderError(f"{place}: must be more than 0")
    return number


def _number(value: object, place: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise SenderError(f"{place}: expected a number, not {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SenderError(f"{place}: expected a finite number")
    return number


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= _LONGEST_NAME or not value.isprintable():
        raise SenderError(f"{place}: expected text of 1 to {_LONGEST_NAME} printable characters, not {_shown(value)}")
    return value


def _truth(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise SenderError(f"{place}: expected true or false, not {_shown(value)}")
    return value


def _direction(value: object, place: str) -> str:
    if value not in DIRECTIONS or not isinstance(value, str):
        raise SenderError(f"{place}: expected one of {', '.join(DIRECTIONS)}, not {_shown(value)}")
    return value


def _algorithm(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.replace("_", "").isalnum() or not value.isascii() or len(value) > 15:
        raise SenderError(
            f"{place}: expected the kernel's name of an algorithm (cubic, bbr, reno ...), not {_shown(value)}"
        )
    return value


def _ip_version(value: object, place: str) -> int:
    if value not in (4, 6) or not isinstance(value, int):
        raise SenderError(f"{place}: expected 4 or 6, not {_shown(value)}")
    return value


def _address(value: object, place: str) -> str:
    text = _name(value, place)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise SenderError(f"{place}: expected an address, not {_shown(value)}") from None
    return text


def _interface(value: object, place: str) -> str:
    # linux/if.h: IFNAMSIZ is 16 with the closing zero.
    text = _name(value, place)
    if len(text.encode("utf-8", "replace")) > 15 or "/" in text or " " in text:
        raise SenderError(f"{place}: expected the name of an interface, not {_shown(value)}")
    return text


def _check_of(option: Option) -> _Check[Any]:
    if not option.most:
        return _algorithm
    return _size(option.least, option.most) if option.is_size else _whole(option.least, option.most)

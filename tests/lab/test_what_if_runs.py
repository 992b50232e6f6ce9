"""Pairs of transfers differ by exactly the change that they are about."""

from __future__ import annotations

import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from vmtrace.lab.accuracy import what_if_runs
from vmtrace.lab.accuracy.what_if_runs import Pair, draw, names, time_to_the_readers_fin_s
from vmtrace.lab.transfer import Kind

# Fields that a change of that kind may touch, in the scenario or below it.
TOUCHED = {
    what_if_runs.NO_LOSS: {"forward.loss"},
    what_if_runs.WINDOW: {"transfer.receive_buffer_bytes"},
    what_if_runs.READS: {"transfer.read_pauses"},
    what_if_runs.BUFFER: {"transfer.send_buffer_bytes"},
    what_if_runs.BANDWIDTH: {"forward.rate_bps"},
    what_if_runs.NO_BUCKET: {"forward.token_bucket"},
    what_if_runs.NO_STALLS: {"stalls"},
    what_if_runs.WARM: {"transfer.exchanges"},
}


def differences(one: Any, other: Any) -> set[str]:
    found = set()
    for field in fields(one):
        mine, its = getattr(one, field.name), getattr(other, field.name)
        if mine == its:
            continue
        nested = (
            {f"{field.name}.{name}" for name in differences(mine, its)} if field.name in ("forward", "transfer") else ()
        )
        found |= set(nested) or {field.name}
    return found


def payload_bytes(pair: Pair, changed: bool) -> int:
    scenario: Any = pair.changed if changed else pair.base
    transfer = getattr(scenario, "transfer", scenario)
    if getattr(transfer, "kind", None) is Kind.EXCHANGE:
        return int(transfer.exchanges * transfer.response_bytes)
    return int(transfer.payload_bytes)


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_differs_by_its_change_and_nothing_else(seed: int) -> None:
    pairs = draw(seed, 2)
    assert len({pair.name for pair in pairs}) == len(pairs) == 32
    for pair in pairs:
        if pair.change == what_if_runs.APPLICATION:
            assert {name.partition(".")[0] for name in differences(pair.base, pair.changed)} == {"transfer"}
            assert payload_bytes(pair, changed=False) == payload_bytes(pair, changed=True)
        else:
            assert differences(pair.base, pair.changed) == TOUCHED[pair.change], pair.name


def test_a_seed_draws_the_same_pairs_and_another_seed_others() -> None:
    assert draw(3, 1) == draw(3, 1)
    assert draw(3, 1) != draw(4, 1)


def test_a_pair_is_made_in_folders_of_its_own() -> None:
    assert names(2) == ["base", "changed-0", "changed-1"]


def packet(time_s: float, source: int, flags: int, payload: int) -> bytes:
    ip = (
        bytes([0x45, 0])
        + struct.pack("!HHHBBH", 40 + payload, 0, 0, 64, 6, 0)
        + bytes([192, 0, 2, source, 192, 0, 2, 9])
    )
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 0, 0, 5 << 4, flags, 100, 0, 0)
    content = ip + tcp
    whole, fraction = divmod(round(time_s * 1e9), 10**9)
    return struct.pack("<IIII", whole, fraction, len(content), len(content) + payload) + content


def test_a_transfer_lasts_to_the_readers_fin(tmp_path: Path) -> None:
    capture = tmp_path / "one.pcap"
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    rows = [(1.0, 1, 2, 0), (1.1, 2, 18, 0), (1.2, 1, 16, 1000), (1.3, 1, 17, 500), (1.5, 2, 17, 0), (1.6, 1, 16, 0)]
    capture.write_bytes(header + b"".join(packet(*row) for row in rows))
    assert time_to_the_readers_fin_s(capture) == pytest.approx(0.5)

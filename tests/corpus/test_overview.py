"""The page's numbers: who was slowed by what, for how long."""

import pytest

from vmtrace.corpus.overview import COLUMNS, Overview, overview_of, slowed


def row(
    number: int, factor: str | None, data_s: float, share: float | None = 0.5, client: str = "10.0.0.1:5"
) -> dict[str, object]:
    values = dict.fromkeys(COLUMNS) | {
        "id": number,
        "client": client,
        "server": "10.0.0.9:443",
        "start_ns": number * 10**12,
    }
    return values | {
        "ledger_wire_bytes": 1000,
        "server_to_client_data_time_s": data_s,
        "verdict_factor": factor,
        "verdict_share": share,
        "verdict_sentence": f"Sentence {number} <b>.",
    }


def overview(*rows: dict[str, object]) -> Overview:
    import pyarrow as pa

    return overview_of([pa.Table.from_pylist(list(rows))])


def test_a_connection_is_slowed_for_its_share_of_the_data_time() -> None:
    assert slowed("loss_recovery", 0.5, None, 4.0) == 2.0
    assert slowed("application", 0.5, 1.0, 4.0) == 0
    assert slowed(None, 0.5, 1.0, 4.0) == 0
    assert slowed("loss_recovery", None, 1.0, 4.0) == 0


def test_the_worst_come_first_and_the_rest_is_counted() -> None:
    found = overview(
        row(1, "loss_recovery", 4), row(2, "receiver_window", 40), row(3, "application", 90), row(4, None, 1)
    )
    assert [one["id"] for one in found.worst_rows()] == [2, 1]
    assert (found.total.connections, found.total.wire_bytes) == (4, 4000)
    assert found.answer()[0].startswith(
        "Receiver window slowed 1 of 3 connections with a verdict, for 20.0 s in all (90.9 %"
    )
    assert [place[3] for place, _ in found.worst_places(5)] == ["receiver window", "loss recovery"]


def test_a_corpus_that_nothing_slowed_says_so() -> None:
    assert "Nothing but the applications" in overview(row(1, "application", 4)).answer()[0]
    assert overview(row(1, None, 4)).answer() == ("No connection is long enough for a verdict.",)


def test_only_so_many_host_pairs_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.corpus.overview._MOST_PLACES", 1)
    found = overview(*(row(number, "setup", 1, client=f"10.0.0.{number}:5") for number in (1, 2, 3)))
    assert (len(found.places), found.places_left_out) == (1, 2)

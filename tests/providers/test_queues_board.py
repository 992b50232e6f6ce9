"""The board, the budget on it, and the progress that logs show."""

import json
from pathlib import Path

import pytest

from vmtrace.providers.budget import Limits
from vmtrace.providers.errors import BudgetError, ProvidersError, UsageError
from vmtrace.providers.queues.board import Board, Counter, Plane
from vmtrace.providers.queues.meter import SharedMeter, usage_of_killed, usage_on
from vmtrace.providers.queues.prices import Usage, load_prices, table_of_toml
from vmtrace.providers.queues.progress import Seen, progress_of

ROW = "request_per_1000 = 1\nmessage_per_1000 = 0\nupload_per_gb = 0\ndownload_per_gb = 0\nrequest_chunk_bytes = 100\n"
TABLE = f'name = "t"\nsource = "s"\ncurrency = "USD"\n[[price]]\nprovider = "sqs"\n{ROW}'


def test_counters_of_all_processes_are_summed_and_survive_them(tmp_path: Path) -> None:
    with Board(tmp_path / "b", 10) as one, Board(tmp_path / "b", 10) as other:
        one.add(0, Counter.SENT, 3)
        other.add(255, Counter.SENT, 4)
        assert one.total(Counter.SENT) == 7
    with Board(tmp_path / "b", 10) as again:
        assert again.total(Counter.SENT) == 7


def test_a_message_is_marked_once_in_each_plane(tmp_path: Path) -> None:
    with Board(tmp_path / "b", 3) as board:
        assert board.mark(Plane.RECEIVED, 2)
        assert not board.mark(Plane.RECEIVED, 2)
        assert board.mark(Plane.DELETED, 2)
        assert (board.marked(Plane.RECEIVED), board.marked(Plane.DELETED)) == (1, 1)


def test_no_process_goes_over_the_limit_of_all(tmp_path: Path) -> None:
    with Board(tmp_path / "b", 1) as board:
        one = SharedMeter(board, 0, Limits(max_bytes=100), None, Usage(uploaded_bytes=20))
        other = SharedMeter(board, 1, Limits(max_bytes=100), None, Usage(uploaded_bytes=20))
        one.upload(50)
        other.download(30)
        with pytest.raises(BudgetError):
            one.upload(1)
        other.removing = True
        other.upload(5)
        assert usage_on(board) == Usage(0, 0, 55, 30)


def test_a_large_body_counts_as_several_requests(tmp_path: Path) -> None:
    prices = table_of_toml(TABLE.encode()).prices("sqs", "anywhere")
    assert prices is not None
    with Board(tmp_path / "b", 1) as board:
        meter = SharedMeter(board, 0, Limits(max_cost=0.003), prices, Usage())
        meter.request("POST", "/")
        meter.upload(250)
        assert usage_on(board).requests == 3
        with pytest.raises(BudgetError, match="max-cost"):
            meter.request("POST", "/")


def test_the_prices_of_2007_are_ten_cents_for_a_thousand_messages() -> None:
    prices = load_prices("garfinkel2007").prices("sqs", None)
    assert prices is not None
    assert prices.charge(Usage(messages=1000)) == pytest.approx(0.10)
    assert prices.charges(Usage(uploaded_bytes=10**9))["transfer"] == pytest.approx(0.18)


@pytest.mark.parametrize("text", ["", TABLE.replace('"t"', "1"), TABLE + "x = 1", TABLE.replace("= 1\n", "= -1\n")])
def test_a_table_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|unknown"):
        table_of_toml(text.encode())


def test_a_table_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="garfinkel2007"):
        load_prices("nowhere.toml")


def test_what_a_killed_stage_used_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "boards").mkdir()
    with Board(tmp_path / "boards/001-1.bin", 5) as board:
        board.add(3, Counter.REQUESTS, 9)
        board.add(4, Counter.SENT, 2)
    assert usage_of_killed(tmp_path) == Usage(messages=2, requests=9)
    assert usage_of_killed(tmp_path) == Usage()


def log(folder: Path, name: str, *lines: dict[str, object], torn: str = "") -> None:
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / name).write_text("".join(json.dumps(line) + "\n" for line in lines) + torn)


def test_progress_is_what_the_logs_say_up_to_a_torn_line(tmp_path: Path) -> None:
    log(
        tmp_path,
        "001-1-sender-0.jsonl",
        {"operation": "sending", "numbers": [0, 1]},
        {"operation": "send", "numbers": [0, 1], "refused": {"1": "InternalError"}},
        {"operation": "sending", "numbers": [2]},
        torn='{"operation": "send", "numb',
    )
    log(tmp_path, "001-1-receiver-0.jsonl", {"operation": "receive", "messages": [[0, 0, 0, 1]]})
    progress = progress_of(tmp_path, 4)
    assert [progress.count(flag) for flag in (Seen.ATTEMPTED, Seen.SENT, Seen.REFUSED, Seen.RECEIVED)] == [3, 1, 1, 1]
    assert progress.outstanding() == 2  # 0 is not deleted, and of 2 nobody knows


def test_a_deleted_message_is_outstanding_no_more(tmp_path: Path) -> None:
    log(tmp_path, "1.jsonl", {"operation": "sending", "numbers": [0, 1]}, {"operation": "delete", "numbers": [0, 1],
        "refused": {"1": "stale"}})  # fmt: skip
    assert progress_of(tmp_path, 2).outstanding() == 1


def test_a_damaged_log_is_named_with_its_line(tmp_path: Path) -> None:
    log(tmp_path, "1.jsonl", {"operation": "sending", "numbers": [5]})
    with pytest.raises(ProvidersError, match="line 1 is damaged"):
        progress_of(tmp_path, 2)

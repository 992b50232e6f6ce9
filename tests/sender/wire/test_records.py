from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.wire import records
from vmtrace.sender.wire.fields import from_json, to_json

NUMBERS = st.integers(0, 2**40)
SENT = st.builds(records.Sent, st.lists(NUMBERS).map(tuple), st.lists(st.just("a" * 64)).map(tuple))


@given(st.builds(records.TransferRequest, NUMBERS, NUMBERS, st.sampled_from(records.PARTS), NUMBERS))
def test_a_request_comes_back_as_it_was(request: records.TransferRequest) -> None:
    assert from_json(records.TransferRequest, to_json(request)) == request


@given(SENT)
def test_lists_become_tuples_again(sent: records.Sent) -> None:
    listed = {name: list(value) for name, value in to_json(sent).items()}
    assert from_json(records.Sent, listed) == sent


def test_a_transfer_is_one_upload_of_one_stream_unless_it_says_more() -> None:
    request = records.TransferRequest(1, 1, "data", 1)
    assert (request.direction, request.streams, request.tls) == ("upload", 1, False)
    assert [records.directions_of(way) for way in records.DIRECTIONS] == [
        ("upload",), ("download",), ("upload", "download")
    ]  # fmt: skip


def test_a_bulk_transfer_repeats_what_stays_in_a_cache() -> None:
    assert records.random_bytes_for(64 << 20) == 8 << 20
    assert records.random_bytes_for((64 << 20) + 1) == 512 << 10


def test_records_within_records_come_back() -> None:
    far = records.FarEnd(
        records.Arrival(1, 2, None, True), records.Sent((1,), ("a",)), None, records.CaptureCounts(1, None, "x"), None
    )
    as_json = to_json(far)
    as_json["sent"] = {"bytes": [1], "sha256": ["a"]}
    assert from_json(records.FarEnd, as_json) == far

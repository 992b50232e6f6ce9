import dataclasses

from vmtrace.capture.tcp_info import TcpInfoSample
from vmtrace.sender.wire.summary import tcp_summary

NOTHING = dict.fromkeys(field.name for field in dataclasses.fields(TcpInfoSample))


def sample(**values: object) -> TcpInfoSample:
    return TcpInfoSample(**{**NOTHING, "direction": "upload", **values})  # type: ignore[arg-type]


def test_streams_of_the_direction_are_summed_up() -> None:
    streams = [
        sample(
            segments_out=3,
            retransmitted_segments=1,
            min_rtt_s=0.2,
            srtt_s=0.3,
            delivery_rate_bps=10,
            congestion_control="cubic",
        ),
        sample(segments_out=4, retransmitted_segments=0, min_rtt_s=0.1, srtt_s=0.5, delivery_rate_bps=20),
        sample(direction="download", segments_out=1000),
    ]
    summary = tcp_summary(streams, "upload")
    assert summary is not None
    assert (summary.segments_out, summary.retransmitted_segments, summary.delivery_rate_bps) == (7, 1, 30)
    assert (summary.min_rtt_s, summary.srtt_s, summary.congestion_control) == (0.1, 0.4, "cubic")


def test_a_sum_with_an_unknown_part_is_unknown() -> None:
    summary = tcp_summary([sample(segments_out=3), sample()], "upload")
    assert summary is not None
    assert summary.segments_out is None
    assert summary.srtt_s is None


def test_without_a_sample_there_is_no_summary() -> None:
    assert tcp_summary([sample()], "download") is None

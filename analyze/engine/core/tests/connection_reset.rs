//! Resets: those that nobody takes, those that what passes later refutes, and those that end a connection (RFC 5961).
//!
//! Subjects: `tcp/connection/closing.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::close::Close;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// The server sends so many full segments from `from_ms` on, one each 10 ms, each acknowledged after 0.1 ms.
fn download(talk: Talk, from_ms: f64, segments: u64, first: u64) -> Talk {
    talk.each(0..segments, |talk, number| {
        let (time_ms, start) = (from_ms + 10.0 * number as f64, (first + number) * u64::from(FULL));
        talk.server(time_ms, data(start as i64, FULL)).client(time_ms + 0.1, ack(start as i64 + i64::from(FULL)))
    })
}

fn closed(talk: Talk, time_ms: f64, bytes: i64) -> Talk {
    talk.server(time_ms, fin(bytes)).client(time_ms + 0.1, fin(0).acking(bytes + 1)).server(time_ms + 40.0, ack(1))
}

fn server_to_client(summary: &ConnectionSummary) -> (u64, u32, u32) {
    let direction = &summary.directions[SERVER];
    (direction.unique_payload_bytes, direction.loss.retransmitted, direction.loss.spurious)
}

#[test]
fn a_reset_out_of_the_window_ends_nothing() {
    for number in [100_000, 900_000_000, -200_000] {
        let opened = Talk::seen_at_client(40.0).client(41.0, Segment { start: Some(number), ..rst() });
        let summary = closed(download(opened, 90.0, 50, 0), 700.0, 50_000).summary();
        assert_eq!((summary.close, summary.reset_by), (Close::Fin, None), "number {number}");
        assert_eq!(server_to_client(&summary), (50_000, 0, 0), "number {number}");
    }
}

#[test]
fn a_connection_that_goes_on_refutes_its_reset() {
    let before = download(Talk::seen_at_client(40.0), 90.0, 10, 0);
    for by in [CLIENT, SERVER] {
        let reset = before.clone().line(by, 195.0, rst());
        let summary = closed(download(reset, 200.0, 100, 10), 1300.0, 110_000).summary();
        assert_eq!((summary.close, summary.reset_by), (Close::Fin, None), "by {by}");
        assert_eq!(server_to_client(&summary), (110_000, 0, 0), "by {by}");
    }
}

#[test]
fn what_was_under_way_does_not_refute_a_reset() {
    let talk = download(Talk::seen_at_client(40.0), 90.0, 10, 0).client(185.0, rst());
    let talk = talk.each(0..4, |talk, number| {
        talk.server(186.0 + f64::from(number), data(10_000 + i64::from(number) * i64::from(FULL), FULL))
            .client(186.1 + f64::from(number), rst())
    });
    let summary = talk.summary();
    assert_eq!((summary.close, summary.reset_by), (Close::Reset, Some(CLIENT as u8)));
}

#[test]
fn a_reset_right_behind_the_opening_is_one() {
    let summary = Talk::seen_at_client(40.0).client(41.0, rst()).summary();
    assert_eq!((summary.close, summary.reset_by), (Close::Reset, Some(CLIENT as u8)));
}

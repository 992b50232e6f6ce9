//! Silences of a host that owes acknowledgements: a scheduler's rhythm is found, that of an application is none.
//!
//! Subjects: `tcp/connection/standstills.rs`.

use crate::playbook::*;

const ROUND_TRIP_MS: f64 = 20.0;

/// A download seen at the client: a segment each millisecond for three seconds, the second of two acknowledged at `heard_ms` of its time.
/// Strays in the client's name come at those times.
fn download(heard_ms: impl Fn(f64) -> f64, strays_ms: &[f64]) -> Talk {
    let opened = Talk::new()
        .client(0.0, syn())
        .server(ROUND_TRIP_MS, syn_ack())
        .client(ROUND_TRIP_MS + 0.1, ack(0))
        .client(ROUND_TRIP_MS + 1.0, data(0, 300))
        .server(2.0 * ROUND_TRIP_MS + 1.0, ack(300));
    let mut events: Vec<(f64, usize, Segment)> = (0..3000)
        .flat_map(|number| {
            let (at_ms, offset) = (50.0 + number as f64, number * i64::from(FULL));
            let acknowledgement = Segment { start: Some(300), ..ack(offset + i64::from(FULL)) };
            let answer = (number % 2 == 1).then(|| (heard_ms(at_ms) + 0.05, CLIENT, acknowledgement));
            [Some((at_ms, SERVER, data(offset, FULL).acking(300))), answer].into_iter().flatten()
        })
        .collect();
    events.extend(strays_ms.iter().map(|&at_ms| (at_ms, CLIENT, data(1 << 30, 10))));
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    events.into_iter().fold(opened, |talk, (at_ms, side, segment)| talk.line(side, at_ms, segment))
}

fn stall_period_ns(talk: &Talk) -> Option<u64> {
    talk.summary().limits(1).and_then(|limits| limits.stall_period_ns)
}

/// Awake for 20 of 100 ms; what comes later is heard when the next period begins.
fn quota(at_ms: f64) -> f64 {
    if at_ms % 100.0 < 20.0 { at_ms } else { (at_ms / 100.0).floor() * 100.0 + 100.0 }
}

#[test]
fn a_client_that_runs_a_fifth_of_each_period_stands_still_at_it() {
    assert_eq!(stall_period_ns(&download(quota, &[])), Some(100_000_000));
}

#[test]
fn what_no_window_allows_ends_no_silence() {
    let strays_ms: Vec<f64> = (0..300).map(|number| 55.0 + 10.0 * f64::from(number)).collect();
    let talk = download(quota, &strays_ms);
    assert_eq!(talk.summary().directions[0].loss.unacceptable, 300);
    assert_eq!(stall_period_ns(&talk), Some(100_000_000));
}

#[test]
fn a_client_that_acknowledges_at_once_never_stands_still() {
    assert_eq!(stall_period_ns(&download(|at_ms| at_ms, &[])), None);
}

/// A download seen at the client, whose reader makes room each 100 ms: the server sends so many bytes at once, which are acknowledged when
/// it does. `window` is the field of the client's segments, with a scale of 7.
fn read_by_a_timer(bytes: u32, window: u16) -> Talk {
    let opened = Talk::new()
        .client(0.0, syn())
        .server(ROUND_TRIP_MS, syn_ack())
        .client(ROUND_TRIP_MS + 0.1, ack(0).window(window))
        .client(ROUND_TRIP_MS + 1.0, data(0, 300).window(window))
        .server(2.0 * ROUND_TRIP_MS + 1.0, ack(300));
    (1..40).fold(opened, |talk, period| {
        let (at_ms, base) = (100.0 * f64::from(period), i64::from(period - 1) * i64::from(bytes));
        let starts = (0..bytes).step_by(FULL as usize);
        let sent = starts.zip(0u32..).fold(talk, |talk, (start, number)| {
            let sent_ms = at_ms + ROUND_TRIP_MS + 0.1 * f64::from(number);
            talk.server(sent_ms, data(base + i64::from(start), FULL.min(bytes - start)).acking(300))
        });
        let heard = Segment { start: Some(300), ..ack(base + i64::from(bytes)) };
        sent.client(at_ms + 100.0, heard.window(window))
    })
}

#[test]
fn a_client_whose_window_is_used_up_owes_no_acknowledgement() {
    let window = 156;
    let bytes = u32::from(window) << 7;
    assert_eq!(stall_period_ns(&read_by_a_timer(bytes, 1000)), Some(100_000_000), "there was room");
    assert_eq!(stall_period_ns(&read_by_a_timer(bytes, window)), None);
}

/// A download seen at the client, a segment each 8 ms, acknowledged 80 ms after a period of 100 ms has begun, with the window that is left
/// then, and at its end, when the reader has made room.
fn acknowledged_late(left: u16) -> Talk {
    let opened = Talk::new()
        .client(0.0, syn())
        .server(ROUND_TRIP_MS, syn_ack())
        .client(ROUND_TRIP_MS + 0.1, ack(0).window(WHOLE_WINDOW))
        .client(ROUND_TRIP_MS + 1.0, data(0, 300).window(WHOLE_WINDOW))
        .server(2.0 * ROUND_TRIP_MS + 1.0, ack(300));
    (1..40).fold(opened, |talk, period| {
        let (at_ms, base) = (100.0 * f64::from(period), i64::from(period - 1) * 12 * i64::from(FULL));
        let heard = |segments: i64| Segment { start: Some(300), ..ack(base + segments * i64::from(FULL)) };
        (0..12)
            .fold(talk, |talk, number| {
                let talk = if number == 10 { talk.client(at_ms + 80.0, heard(10).window(left)) } else { talk };
                talk.server(at_ms + 1.0 + 8.0 * number as f64, data(base + number * i64::from(FULL), FULL).acking(300))
            })
            .client(at_ms + 100.0, heard(12).window(WHOLE_WINDOW))
    })
}

const WHOLE_WINDOW: u16 = 1000;

#[test]
fn a_client_whose_window_stands_owes_no_acknowledgement() {
    assert_eq!(stall_period_ns(&acknowledged_late(WHOLE_WINDOW)), Some(100_000_000), "its reader had made room");
    let left = WHOLE_WINDOW - u16::try_from(10 * FULL / 128 + 1).expect("a window's field");
    assert_eq!(stall_period_ns(&acknowledged_late(left)), None);
}

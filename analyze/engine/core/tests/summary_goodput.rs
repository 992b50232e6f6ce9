//! Goodput takes more than one flight, and data that was acknowledged; otherwise there is none, with its reason.
//!
//! Subjects: `tcp/summary/summary.rs`, `tcp/summary/direction_rates.rs`.

use crate::playbook::*;
use proptest::prelude::*;

/// So many flights of `segments` from the server, each acknowledged; its goodput and why there is none.
fn download(flights: i64, segments: i64, acknowledged: bool, at_server: bool) -> (Option<f64>, Option<&'static str>) {
    let talk = if at_server { Talk::seen_at_server(40.0) } else { Talk::seen_at_client(40.0) };
    let delay_ms = if at_server { 40.0 } else { 0.05 };
    let talk = talk.each(0..flights, |talk, flight| {
        let (at_ms, first) = (50.0 + 50.0 * flight as f64, flight * segments * 1000);
        let talk = talk.each(0..segments, |talk, number| {
            talk.server(at_ms + 0.01 * number as f64, data(first + number * 1000, FULL))
        });
        if acknowledged {
            talk.client(at_ms + 0.01 * segments as f64 + delay_ms, ack(first + segments * 1000))
        } else {
            talk
        }
    });
    let summary = talk.summary();
    let direction = &summary.directions[SERVER];
    let why = direction.not_measured().find(|(field, _)| *field == "goodput_bps").map(|(_, why)| why);
    (direction.goodput_bps(), why)
}

#[test]
fn twenty_kilobytes_in_one_flight_have_no_goodput() {
    for at_server in [true, false] {
        assert_eq!(download(1, 20, true, at_server), (None, Some("one_flight")));
    }
}

#[test]
fn data_that_was_never_acknowledged_has_no_goodput() {
    assert_eq!(download(3, 20, false, false), (None, Some("never_acknowledged")));
}

#[test]
fn where_nothing_of_the_receiver_was_captured_the_rate_stays() {
    let talk =
        Talk::new().each(0..50, |talk, number| talk.server(f64::from(number), data(i64::from(number) * 1000, FULL)));
    let summary = talk.summary();
    assert!(summary.directions.iter().any(|direction| direction.goodput_bps().is_some()));
}

proptest! {
    #![proptest_config(captures::cases(40))]

    #[test]
    fn there_is_a_goodput_from_the_second_flight_on(flights in 1i64..8, segments in 1i64..30, at_server in any::<bool>()) {
        let (goodput, why) = download(flights, segments, true, at_server);
        prop_assert_eq!(goodput.is_some(), flights > 1);
        prop_assert_eq!(why.is_some(), flights == 1);
    }
}

//! Acknowledgements that are equal bit by bit and answer a retransmission or a probe each: all of them arrived. Copies that the
//! capture made stay copies.

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::loss::retransmissions::LossCounters;

/// The client sends `segments`, whose acknowledgement comes late, all once more after a timeout; the server, which does not
/// report duplicates, answers each retransmission with the same acknowledgement. Also: how many answers the capture shows twice.
fn timed_out(talk: Talk, segments: i64, rtt_ms: f64, gap_ms: f64, copied: usize) -> Talk {
    let (end, again_ms) = (segments * 1000, 2.0 * rtt_ms + 300.0);
    let opened = talk.open(rtt_ms, 0.1);
    let sent = opened.each(0..segments, |talk, number| talk.client(rtt_ms + 1.0, data(number * 1000, FULL)));
    let late = sent.server(again_ms - 1.0, Segment { start: Some(0), ..ack(end) });
    let again = late
        .each(0..segments, |talk, number| talk.client(again_ms + gap_ms * number as f64, data(number * 1000, FULL)));
    again.each(0..segments, |talk, number| {
        let answered_ms = again_ms + rtt_ms + gap_ms * number as f64;
        let talk = talk.server(answered_ms, Segment { start: Some(0), ..ack(end) });
        if (number as usize) < copied { talk.again(answered_ms + 0.001) } else { talk }
    })
}

/// Of the client's data, of the server's packets.
fn loss(talk: Talk) -> [LossCounters; 2] {
    let summary = talk.summary();
    [CLIENT, SERVER].map(|side| *summary.directions[side].loss)
}

#[test]
fn equal_acknowledgements_of_retransmissions_are_not_captured_twice() {
    for talk in [Talk::new().without_identifications(), Talk::new().over_ipv6()] {
        let [client, server] = loss(timed_out(talk, 4, 40.0, 1.0, 0));
        assert_eq!((server.capture_duplicates, server.network_duplicates), (0, 0));
        assert_eq!((client.retransmitted, client.spurious), (4, 4));
    }
}

#[test]
fn a_constant_identification_tells_nothing() {
    let constant = |talk: Talk| {
        let talk = talk.open(40.0, 0.1).each(0..3, |talk, number| talk.client(41.0, data(number * 1000, FULL)));
        let talk = talk.server(390.0, Segment { start: Some(0), ..ack(2000).id(7) });
        let talk = talk.server(391.0, Segment { start: Some(0), ..ack(3000).id(7) });
        let talk = talk.each(0..3, |talk, number| talk.client(400.0 + number as f64, data(number * 1000, FULL)));
        talk.each(0..3, |talk, number| {
            talk.server(440.0 + number as f64, Segment { start: Some(0), ..ack(3000).id(7) })
        })
    };
    let [client, server] = loss(constant(Talk::new()));
    assert_eq!((server.capture_duplicates, client.retransmitted, client.spurious), (0, 3, 3));
}

#[test]
fn copies_of_such_acknowledgements_are_left_out() {
    let [_, server] = loss(timed_out(Talk::new().without_identifications(), 4, 40.0, 1.0, 4));
    assert_eq!(server.capture_duplicates + server.network_duplicates, 4);
}

/// The client's FIN is answered by the server's, which has overtaken an acknowledgement `late_ms` before it came. Both ask the client.
fn overtaken(late_ms: f64, answers: usize) -> [LossCounters; 2] {
    let talk = Talk::new().without_identifications().open(0.5, 20.0).server(30.0, data(0, 140)).client(50.0, ack(140));
    let closing = talk
        .client(3_000.0, fin(0))
        .server(3_001.0, fin(140).acking(1).id(0x2ad))
        .server(3_001.0 + late_ms, Segment { start: Some(140), ..ack(1) }.id(0x2aa));
    loss(
        (0..answers)
            .fold(closing, |talk, n| talk.client(3_021.0 + 0.018 * n as f64, Segment { start: Some(1), ..ack(141) })),
    )
}

#[test]
fn an_acknowledgement_that_a_fin_has_overtaken_is_answered_by_one_of_its_own() {
    assert_eq!(overtaken(0.2, 2)[CLIENT].capture_duplicates + overtaken(0.2, 2)[CLIENT].network_duplicates, 0);
    let third = overtaken(0.2, 3)[CLIENT];
    assert_eq!(third.capture_duplicates + third.network_duplicates, 1, "nobody has asked for a third");
}

proptest! {
    #![proptest_config(captures::cases(60))]

    #[test]
    fn each_retransmission_has_its_acknowledgement(
        segments in 1i64..20, rtt_ms in 2.0..200.0, gap_ms in 0.02..2.0, ipv6 in any::<bool>(),
    ) {
        let talk = if ipv6 { Talk::new().over_ipv6() } else { Talk::new().without_identifications() };
        let [client, server] = loss(timed_out(talk, segments, rtt_ms, gap_ms, 0));
        prop_assert_eq!((server.capture_duplicates, server.network_duplicates), (0, 0));
        prop_assert_eq!((i64::from(client.retransmitted), i64::from(client.spurious)), (segments, segments));
    }
}

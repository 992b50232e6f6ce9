//! Keep-alives of one byte that their receiver reports as duplicates (Windows, SMB, WebSocket): probes, and no copies by the
//! network (RFC 9293 section 3.8.4, RFC 2883).

use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tcp::loss::retransmissions::LossCounters;

/// `written` bytes, then probes of the last of them; `reported` of them are.
fn probed(talk: Talk, written: u32, probes: u32, reported: u32, every_ms: f64) -> LossCounters {
    let end = i64::from(written);
    let talk = talk.client(50.0, data(0, written)).server(90.0, ack(end));
    let talk = talk.each(0..probes, |talk, number| {
        let at_ms = 1000.0 + every_ms * f64::from(number);
        let answer = if number < reported { ack(end).sack(end - 1, end) } else { ack(end) };
        talk.client(at_ms, data(end - 1, 1).without_push().content(&[0])).server(at_ms + 40.0, answer)
    });
    let after_ms = 2000.0 + every_ms * f64::from(probes);
    *talk.client(after_ms, data(end, 500)).server(after_ms + 40.0, ack(end + 500)).summary().directions[CLIENT].loss
}

#[test]
fn a_reported_keep_alive_is_no_copy() {
    let loss = probed(Talk::seen_at_client(40.0), 300, 5, 5, 45_000.0);
    assert_eq!((loss.probes, loss.network_duplicates, loss.spurious, loss.retransmitted), (5, 0, 0, 0));
}

#[test]
fn a_second_report_of_one_probe_is_a_copy() {
    let talk = Talk::seen_at_client(40.0).client(50.0, data(0, 300)).server(90.0, ack(300));
    let talk = talk.client(1000.0, data(299, 1)).server(1040.0, ack(300).sack(299, 300));
    let loss = *talk.server(1060.0, ack(300).sack(299, 300)).summary().directions[CLIENT].loss;
    assert_eq!((loss.probes, loss.network_duplicates), (1, 1));
}

proptest! {
    #![proptest_config(captures::cases(40))]

    #[test]
    fn any_number_of_probes_leaves_nothing_but_probes(
        written in 2u32..900, probes in 1u32..20, reported in 0u32..20, every_ms in 300.0..60_000.0, at_server in any::<bool>(),
    ) {
        let talk = if at_server { Talk::seen_at_server(40.0) } else { Talk::seen_at_client(40.0) };
        let loss = probed(talk, written, probes, reported, every_ms);
        prop_assert_eq!((loss.probes, loss.network_duplicates, loss.spurious, loss.retransmitted), (probes, 0, 0, 0));
    }
}

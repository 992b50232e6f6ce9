//! Congestion marks as their receiver reports them (RFC 3168, RFC 9768), and what they say of a window that does not grow.
//!
//! Subjects: `tcp/events/ecn.rs`.

use crate::playbook::*;
use vmtrace_core::packet::tcp_flags::{ACK, AE, CWR, ECE, SYN};
use vmtrace_core::tcp::events::ecn::{Echoes, Feedback};
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// Beside the client, 20 ms from the server: SYN and SYN-ACK with these bits, and those of what completes the opening.
fn opened(syn_bits: u16, syn_ack_bits: u16, last_bits: u16) -> Talk {
    Talk::new()
        .client(0.0, with(syn_bits | SYN, syn()))
        .server(20.0, with(syn_ack_bits | SYN | ACK, syn_ack()))
        .client(20.1, with(last_bits | ACK, ack(0)))
}

fn with(flags: u16, segment: Segment) -> Segment {
    Segment { flags, ..segment }
}

/// Segment `n` of the client, one each millisecond from 50 ms on.
fn segment(talk: Talk, n: i64, bits: u16) -> Talk {
    let sent = data(n * 1000, 1000).without_push();
    talk.client(50.0 + n as f64, with(ACK | bits, sent))
}

/// The acknowledgement of segment `n`, 20 ms later.
fn answer(talk: Talk, n: i64, bits: u16) -> Talk {
    talk.server(70.05 + n as f64, with(ACK | bits, ack((n + 1) * 1000)))
}

/// Twenty segments in flight all the time, each acknowledged; the receiver sets `bits` in the acknowledgement of `n`.
fn flow(talk: Talk, segments: i64, bits: impl Fn(i64) -> u16) -> Talk {
    (0..segments + 20).fold(talk, |talk, n| {
        let talk = if n < segments { segment(talk, n, 0) } else { talk };
        if n >= 20 { answer(talk, n - 20, bits(n - 20)) } else { talk }
    })
}

fn told(summary: &ConnectionSummary, side: usize) -> Option<(Feedback, Echoes)> {
    summary.directions[side].details.as_deref().and_then(|details| details.congestion)
}

/// The counter's three bits.
fn counter(count: u16) -> u16 {
    (count & 3) << 6 | (count & 4) << 6
}

#[test]
fn echoes_until_the_sender_answers_are_one_event() {
    // Told of from segment 100 until its answer, which passes here with segment 121, is acknowledged; then from 200 on.
    let bits = |n: i64| if (100..121).contains(&n) || n >= 200 { ECE } else { 0 };
    let answered = |talk: Talk, n: i64| segment(talk, n, if n == 121 { CWR } else { 0 });
    let talk = (0..420).fold(opened(CWR | ECE, ECE, 0), |talk, n| {
        let talk = if n < 400 { answered(talk, n) } else { talk };
        if n >= 20 { answer(talk, n - 20, bits(n - 20)) } else { talk }
    });
    let summary = talk.summary();
    let (feedback, echoes) = told(&summary, CLIENT).expect("agreed on");
    assert_eq!((feedback, echoes.packets, echoes.reductions, echoes.marked), (Feedback::Classic, 221, 1, 0));
    // The second goes on to the end: nobody answers it.
    assert_eq!(echoes.events, 2);
    let json = json_of(&talk.analysis());
    let ecn = "\"ecn\":{\"feedback\":\"classic\",\"congestion_events\":2,\"echo_packets\":221,\"marked_packets\":null,\"window_reductions\":1}";
    assert!(json.contains(ecn), "{json}");
}

#[test]
fn accurate_feedback_counts_marked_packets_round_its_three_bits() {
    // One more marked with every tenth segment; the acknowledgement that completes the opening says something else.
    let talk = flow(opened(AE | CWR | ECE, CWR, AE | CWR), 400, |n| counter((5 + n / 10) as u16));
    let (feedback, echoes) = told(&talk.summary(), CLIENT).expect("agreed on");
    // The counter has passed nought without a packet that shows it by its bits.
    assert_eq!((feedback, echoes.marked), (Feedback::Accurate, 39));
    assert_eq!(echoes.reductions, 0, "a counter's bit is no answer to an echo");
}

#[test]
fn counted_marks_are_one_event_for_what_was_in_flight_wherever_they_are_seen() {
    let events = |server_loop_ms: f64, client_loop_ms: f64| {
        let talk = Talk::new()
            .client(0.0, with(AE | CWR | ECE | SYN, syn()))
            .server(server_loop_ms, with(CWR | SYN | ACK, syn_ack()))
            .client(server_loop_ms + client_loop_ms, with(AE | ACK, ack(0)));
        // Every fourth segment is marked from 100 to 159: the sender hears of 100 when it has sent 120.
        let count = |n: i64| counter((5 + (n.clamp(100, 160) - 100) / 4) as u16);
        let passes_ms = |n: i64| 50.0 + n as f64 + client_loop_ms / 2.0;
        let sent = (0..400).map(|n| (passes_ms(n), CLIENT, with(ACK, data(n * 1000, 1000).without_push())));
        let answers =
            (0..400).map(|n| (passes_ms(n) + server_loop_ms, SERVER, with(ACK | count(n), ack((n + 1) * 1000))));
        let mut lines: Vec<(f64, usize, Segment)> = sent.chain(answers).collect();
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let talk = lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment));
        told(&talk.summary(), CLIENT).map(|(_, echoes)| (echoes.marked, echoes.events))
    };
    assert_eq!(events(20.0, 0.1), Some((15, 3)), "beside the client");
    assert_eq!(events(0.1, 20.0), Some((15, 3)), "beside the server");
}

#[test]
fn an_acknowledgement_that_was_overtaken_tells_of_times_gone_by() {
    let talk = flow(opened(AE | CWR | ECE, CWR, AE), 100, |n| counter(if n < 50 { 5 } else { 6 }));
    let late = talk.server(171.0, with(ACK | counter(5), ack(40_000)));
    let (_, echoes) = told(&late.summary(), CLIENT).expect("agreed on");
    assert_eq!((echoes.marked, echoes.packets, echoes.events), (1, 1, 1));
}

#[test]
fn without_an_agreement_the_bits_say_nothing() {
    for (syn_bits, syn_ack_bits) in [(0, 0), (CWR | ECE, 0), (CWR | ECE, CWR | ECE), (0, ECE)] {
        let talk = flow(opened(syn_bits, syn_ack_bits, 0), 100, |_| ECE);
        assert_eq!(told(&talk.summary(), CLIENT), None);
        assert!(!json_of(&talk.analysis()).contains("\"ecn\""));
    }
    // In mid-stream nobody knows what was agreed on.
    assert_eq!(told(&flow(Talk::new(), 100, |_| ECE).summary(), CLIENT), None);
}

#[test]
fn a_window_that_marks_keep_small_is_not_the_senders_own_limit() {
    let verdict = |every: i64| {
        let bits = |n: i64| if n % every == every - 1 { ECE } else { 0 };
        // The sender answers with its next data.
        let answers = |n: i64| if n > 20 && bits(n - 21) != 0 { CWR } else { 0 };
        let talk = (0..2020).fold(opened(CWR | ECE, ECE, 0), |talk, n| {
            let talk = if n < 2000 { segment(talk, n, answers(n)) } else { talk };
            if n >= 20 { answer(talk, n - 20, bits(n - 20)) } else { talk }
        });
        talk.summary().verdict().expect("a verdict")
    };
    assert_eq!(verdict(5000).factor, Factor::SendBuffer);
    // Few marks leave open what a path that marks often decides: it is full.
    assert_eq!(verdict(60).factor, Factor::CongestionWindow);
    assert!(verdict(60).confidence < 0.6, "{}", verdict(60).sentence);
    assert_eq!(verdict(20).factor, Factor::BottleneckBandwidth);
}

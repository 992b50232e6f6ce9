//! Outcomes of a whole capture by kind and server, the bounds of what is kept, and ICMP errors on their way to connections.
//!
//! Subjects: `tcp/outcome/groups.rs`, `tcp/summary/ending.rs`, `tcp/connection/ending_log.rs`, `tcp/events/ending.rs`,
//! `tcp/events/place.rs`, `tcp/events/outcome_kind.rs`, `tcp/connection/ending_notes.rs`, `analysis/icmp_errors.rs`,
//! `output/describe/outcome.rs`.

use crate::playbook::captures::Frame;
use crate::playbook::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::tcp::events::outcome_kind::OutcomeKind;
use vmtrace_core::tcp::outcome::groups;
use vmtrace_core::tcp::outcome::groups::groups;

fn unanswered(client: u8, server: u8, port: u16) -> Talk {
    let talk = Talk::new().between(client, 40_000, server, port);
    talk.client(0.0, syn()).client(1000.0, syn()).client(3000.0, syn())
}

#[test]
fn equal_outcomes_of_one_server_are_counted_together() {
    let talks: Vec<Talk> = (1..=9).map(|client| unanswered(client, 200, 443)).chain([unanswered(1, 201, 80)]).collect();
    let analysis = analysis_of(&merged(&talks), &Options::default());
    let found = groups(analysis.connections.iter().map(|summary| &**summary));
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].connections, found[0].not_listed), (OutcomeKind::SynUnanswered, 10, [0, 0]));
    let servers: Vec<(u64, u16)> = found[0].servers.iter().map(|one| (one.connections, one.first.ports[1])).collect();
    assert_eq!(servers, [(9, 443), (1, 80)]);
    let json = json_of(&analysis);
    assert!(json.contains(r#""outcomes":[{"kind":"syn_unanswered","connections":10,"servers":[{"server":"#), "{json}");
}

#[test]
fn of_a_scan_the_servers_beyond_a_hundred_are_counted() {
    let talks: Vec<Talk> = (1..=150).map(|port| unanswered(1, 200, port)).collect();
    let analysis = analysis_of(&merged(&talks), &Options::default());
    let found = groups(analysis.connections.iter().map(|summary| &**summary));
    assert_eq!((found[0].connections, found[0].servers.len(), found[0].not_listed), (150, 100, [50, 50]));
}

#[test]
fn places_are_bounded_whatever_is_sent_again() {
    let talk = (0..5000).fold(Talk::seen_at_client(40.0), |talk, number| {
        let time_ms = 100.0 + f64::from(number) * 300.0;
        talk.client(time_ms, data(0, 1000)).server(time_ms + 1.0, rst().acking(0))
    });
    for connection in &analysis_of(talk.frames(), &Options::default()).connections {
        let ending = connection.ending.as_deref();
        assert!(ending.is_none_or(|ending| ending.resets.len() <= 6));
        let again = |side: usize| ending.map_or(0, |ending| ending.sides[side].sent_again.len());
        assert!(again(0) <= 10 && again(1) <= 10);
        let frames = connection.outcome().into_iter().flat_map(|outcome| outcome.evidence);
        assert!(frames.into_iter().all(|evidence| evidence.frames.len() <= 10));
    }
}

/// An ICMP error of type 3 about the first frame of a talk, as a router sends it.
fn unreachable(talk: &Talk, time_ms: f64, code: u8, mtu: u16) -> Frame {
    unreachable_by(talk, 0, time_ms, code, mtu)
}

/// The same about any frame.
fn unreachable_by(talk: &Talk, index: usize, time_ms: f64, code: u8, mtu: u16) -> Frame {
    let sent = &talk.frames()[index].bytes[14..42];
    let mut bytes = talk.frames()[0].bytes[..14].to_vec();
    let length = 20 + 8 + sent.len() as u16;
    bytes.extend([0x45, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 60, 1, 0, 0, 192, 0, 2, 1]);
    bytes.extend(&sent[12..16]);
    bytes.extend([3, code, 0, 0, 0, 0]);
    bytes.extend(mtu.to_be_bytes());
    bytes.extend(sent);
    Frame { time_ns: START_NS + ms(time_ms), original_length: bytes.len() as u32, bytes }
}

#[test]
fn an_icmp_error_comes_to_the_connection_that_it_quotes() {
    let talk = unanswered(1, 200, 443);
    let mut frames = merged(&[talk.clone(), unanswered(1, 201, 443)]);
    frames.push(unreachable(&talk, 3500.0, 1, 0));
    let analysis = analysis_of(&frames, &Options::default());
    check_consistency(&analysis);
    let errors = analysis.connections[0].icmp_errors().expect("ICMP errors");
    assert_eq!((errors.list.len(), errors.list[0].frame, errors.list[0].code), (1, 7, 1));
    assert!(analysis.connections[1].icmp_errors().is_none());
    let found = analysis.connections[0].outcome().expect("an outcome");
    assert!(found.sentence.contains("a device on the path reports that the host is unreachable"), "{}", found.sentence);
    assert!(json_of(&analysis).contains(r#""type":3,"code":1,"from":"192.0.2.1","frame":7,"mtu":null"#));
}

#[test]
fn a_port_that_is_unreachable_is_a_refusal() {
    let talk = Talk::new().client(0.0, syn());
    let frames = [talk.frames(), &[unreachable(&talk, 1.0, 3, 0)]].concat();
    let analysis = analysis_of(&frames, &Options::default());
    assert_eq!(groups::outcome_kind(&analysis.connections[0]), Some(OutcomeKind::SynRefused));
}

#[test]
fn a_protocol_that_is_unreachable_is_no_port() {
    let talk = Talk::new().client(0.0, syn());
    let frames = [talk.frames(), &[unreachable(&talk, 1.0, 2, 0)]].concat();
    let found = analysis_of(&frames, &Options::default()).connections[0].outcome().expect("an outcome");
    assert!(
        found.sentence.contains("that TCP is unreachable") && !found.sentence.contains(" port"),
        "{}",
        found.sentence
    );
}

#[test]
fn a_syn_ack_that_cannot_reach_the_client_is_named() {
    let talk = Talk::new().client(0.0, syn()).server(0.1, syn_ack());
    let frames = [talk.frames(), &[unreachable_by(&talk, 1, 1.0, 0, 0)]].concat();
    let found = analysis_of(&frames, &Options::default()).connections[0].outcome().expect("an outcome");
    assert_eq!(found.kind, OutcomeKind::HandshakeIncomplete);
    assert!(
        found.sentence.contains("a device on the path reports that the network is unreachable"),
        "{}",
        found.sentence
    );
    assert!(talk.summary().outcome().is_none(), "a SYN-ACK alone shows nothing");
}

#[test]
fn more_errors_than_are_listed_are_counted() {
    let talk = unanswered(1, 200, 443);
    let errors = (0..40).map(|number| unreachable(&talk, 4000.0 + f64::from(number), 4, 1400));
    let frames: Vec<Frame> = talk.frames().iter().cloned().chain(errors).collect();
    let analysis = analysis_of(&frames, &Options::default());
    let errors = analysis.connections[0].icmp_errors().expect("ICMP errors");
    assert_eq!((errors.list.len(), errors.not_listed, errors.list[0].mtu), (16, 24, Some(1400)));
}

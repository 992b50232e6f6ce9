//! Wrong checksums: counted where neither offload nor rewriting explains them.
//!
//! Subjects: `tcp/capture/checksums.rs`, `tcp/connection/checksums.rs`.

use crate::captures::Frame;
use crate::playbook::*;
use serde_json::Value;
use vmtrace_core::analysis::Options;

/// Where the TCP header begins in a frame of IPv4, and of IPv6.
const TCP: [usize; 2] = [34, 54];

fn is_of(frame: &Frame, side: usize, talk: &Talk) -> bool {
    let at = TCP[usize::from(talk.ipv6)];
    frame.bytes[at..at + 2] == talk.ports[side].to_be_bytes()
}

/// The frames with those changed that are of `side` and whose number in its order `which` chooses.
fn changed(talk: &Talk, side: usize, which: impl Fn(usize) -> bool, change: impl Fn(&mut [u8])) -> Vec<Frame> {
    let at = TCP[usize::from(talk.ipv6)];
    let mut number = 0;
    let change_one = |frame: &Frame| {
        let mut frame = frame.clone();
        if is_of(&frame, side, talk) {
            if which(number) {
                change(&mut frame.bytes[at..]);
            }
            number += 1;
        }
        frame
    };
    talk.frames().iter().map(change_one).collect()
}

fn flipped(segment: &mut [u8]) {
    segment[17] ^= 0x40;
}

/// Wrong ones of the client and of the server, by connection and by input.
fn wrong(frames: &[Frame]) -> ([u32; 2], u64) {
    let analysis = analysis_of(frames, &Options::default());
    let of = [CLIENT, SERVER].map(|side| analysis.connections[0].directions[side].loss.bad_checksums);
    (of, analysis.inputs[0].bad_checksums)
}

/// An upload of which each segment is there twice: what was sent before is looked at.
fn upload(base: Talk) -> Talk {
    base.open(0.1, 40.0).each(0..20_i64, |talk, n| {
        let at_ms = 50.0 + 300.0 * n as f64;
        talk.client(at_ms, data(n * 1000, 1000))
            .client(at_ms + 250.0, data(n * 1000, 1000))
            .server(at_ms + 250.1, ack((n + 1) * 1000))
    })
}

#[test]
fn right_checksums_are_none() {
    for base in [Talk::new(), Talk::new().over_ipv6(), Talk::new().with_timestamps()] {
        assert_eq!(wrong(upload(base).frames()), ([0, 0], 0));
    }
}

#[test]
fn a_few_wrong_ones_among_right_ones_are_damage() {
    for base in [Talk::new(), Talk::new().over_ipv6()] {
        // SYN, ACK, then original and repeat in turn: a repeat is damaged, too.
        let frames = changed(&upload(base), CLIENT, |number| [5, 9].contains(&number), flipped);
        assert_eq!(wrong(&frames), ([2, 0], 2));
        let document: Value = serde_json::from_str(&json_of(&analysis_of(&frames, &Options::default()))).unwrap();
        assert_eq!(document["connections"][0]["client_to_server"]["loss"]["bad_checksums"], 2);
        assert_eq!(document["inputs"][0]["capture"]["bad_checksums"], 2);
        assert!(document["connections"][0]["server_to_client"]["loss"].get("bad_checksums").is_none());
    }
}

#[test]
fn a_card_that_writes_them_later_explains_them() {
    let talk = upload(Talk::new());
    let left = |segment: &mut [u8]| {
        let length = segment.len() as u16;
        let sum = [10 << 8, 1, 10 << 8, 2, 6, u32::from(length)].iter().sum::<u32>();
        segment[16..18].copy_from_slice(&(((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    };
    let frames = changed(&talk, CLIENT, |number| number != 5, left);
    assert_eq!(wrong(&frames), ([0, 0], 0));
    // One of them is odd, and the card of the same host explains that as well.
    assert_eq!(wrong(&changed(&talk, CLIENT, |number| number == 5, |segment| segment[16..18].fill(0))).0, [0, 0]);
}

#[test]
fn addresses_replaced_afterwards_explain_them_where_the_peer_has_taken_all() {
    let frames = changed(&upload(Talk::new()), CLIENT, |_| true, flipped);
    assert_eq!(wrong(&frames), ([0, 0], 0));
}

#[test]
fn what_is_wrong_each_time_and_never_answered_is_why() {
    let opened = Talk::new().open(0.1, 40.0);
    let data_wrong = opened.each(0..6_i64, |talk, n| talk.client(50.0 + 300.0 * n as f64, data(0, 1000)));
    assert_eq!(wrong(&changed(&data_wrong, CLIENT, |number| number >= 2, flipped)).0, [5, 0], "all repeats");
    let syns = Talk::new().client(0.0, syn()).client(1000.0, syn()).client(3000.0, syn());
    assert_eq!(wrong(&changed(&syns, CLIENT, |_| true, flipped)).0, [3, 0]);
}

#[test]
fn what_was_cut_or_is_no_single_segment_says_nothing() {
    let cut = upload(Talk::new()).snapped(80);
    assert_eq!(wrong(&changed(&cut, CLIENT, |number| number > 1, flipped)).0, [0, 0]);
    let joined = Talk::new().open(0.1, 40.0).each(0..6_i64, |talk, n| {
        let at_ms = 50.0 + 300.0 * n as f64;
        talk.client(at_ms, data(0, 4000))
    });
    assert_eq!(wrong(&changed(&joined, CLIENT, |number| number > 1, flipped)).0, [0, 0]);
}

//! Frames without TCP: every one counted by its protocol, datagrams by flow, numbers and rates of what is numbered in clear text.
//!
//! Subjects: `flows/table.rs`, `flows/application.rs`, `flows/protocols.rs`, `flows/neighbours.rs`, `analysis/others.rs`,
//! `flows/arrivals.rs`, `flows/flow.rs`, `flows/layouts.rs`, `flows/media_clock.rs`, `decode/other.rs`, `output/describe/flows.rs`.

use crate::frames;
use crate::playbook::captures::{Frame, cases, frame};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::flows::Flow;
use vmtrace_core::flows::application::Application;

/// A datagram between hosts 1 (client) and 2 of 198.18.0.0/24.
pub fn udp(time_ms: f64, from_client: bool, ports: [u16; 2], payload: &[u8]) -> Frame {
    let ports = if from_client { ports } else { [ports[1], ports[0]] };
    let length = (8 + payload.len() as u16).to_be_bytes();
    let words = [ports[0].to_be_bytes(), ports[1].to_be_bytes(), length].concat();
    ip(time_ms, from_client, 17, &[&words[..], &[0, 0], payload].concat())
}

pub fn ip(time_ms: f64, from_client: bool, protocol: u8, payload: &[u8]) -> Frame {
    let mut packet = frames::ipv4(protocol, payload);
    packet[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
    if !from_client {
        packet[12..20].rotate_left(4);
    }
    let bytes = frames::ethernet(0x0800, &packet);
    frame(START_NS + ms(time_ms), bytes.len() as u32, &bytes)
}

/// The frame in VXLAN of number 7, from 10.1.2.3 to 192.168.7.9 or back.
pub fn in_vxlan(inner: &Frame, from_client: bool) -> Frame {
    let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0][..], &inner.bytes].concat();
    let mut bytes = frames::ethernet(0x0800, &frames::ipv4(17, &frames::udp(4789, &vxlan)));
    if !from_client {
        bytes[26..34].rotate_left(4);
    }
    Frame { original_length: bytes.len() as u32, bytes, ..inner.clone() }
}

pub fn analysis(frames: &[Frame]) -> Analysis {
    let one = analysis_of(frames, &Options::default());
    let many = analysis_of(frames, &Options { threads: 4, ..Options::default() });
    assert_eq!(json_of(&one), json_of(&many), "on several threads");
    one
}

pub fn flows(analysis: &Analysis) -> &[Flow] {
    analysis.datagrams.flows.list()
}

/// Header of RTP, payload type 96, and some media.
fn rtp(number: u16, stamp: u32, source: u32) -> Vec<u8> {
    [&[0x80, 96][..], &number.to_be_bytes(), &stamp.to_be_bytes(), &source.to_be_bytes(), &[7; 160]].concat()
}

fn iperf3(number: u32, sent_ms: f64) -> Vec<u8> {
    let sent_us = 100_000_000.0 + sent_ms * 1000.0;
    let (seconds, microseconds) = ((sent_us / 1e6) as u32, (sent_us % 1e6) as u32);
    [&seconds.to_be_bytes()[..], &microseconds.to_be_bytes(), &number.to_be_bytes(), &[0; 188]].concat()
}

#[test]
fn media_of_two_sources_has_its_losses_and_its_clock() {
    // 20 ms of 48 kHz each; of one source every tenth is missing, of the other one comes late.
    let mut list = Vec::new();
    for number in 0..200u32 {
        let at = f64::from(number) * 20.0;
        if number % 10 != 5 || number == 195 {
            list.push(udp(at, true, [5004, 5006], &rtp((65_500 + number) as u16, number * 960, 1)));
        }
        let swapped = if number == 100 {
            101
        } else if number == 101 {
            100
        } else {
            number
        };
        list.push(udp(at + 1.0, true, [5004, 5006], &rtp(swapped as u16, swapped * 960, 2)));
    }
    let analysis = analysis(&list);
    let [flow] = flows(&analysis) else { panic!("one flow") };
    assert_eq!((flow.application(), flow.is_unanswered()), (Some(Application::Rtp), None));
    let totals = flow.lanes[0].totals().unwrap();
    // The first datagrams are counted as well, before it was known what they are.
    assert_eq!((totals.received, totals.lost, totals.reordered), (381, 19, 1));
    assert!(totals.jitter_ns.unwrap() < 1e6, "{totals:?}");
}

#[test]
fn a_full_queue_shows_its_rate_and_how_long_it_is() {
    // 1 ms apart, through a link that takes 1.4 ms each and holds 24 ms.
    let (mut free_ms, mut list) = (0.0f64, Vec::new());
    let mut lost = 0;
    for number in 1..=2000u32 {
        let sent_ms = f64::from(number);
        if free_ms - sent_ms > 24.0 {
            lost += 1;
            continue;
        }
        free_ms = free_ms.max(sent_ms) + 1.4;
        list.push(udp(free_ms + 20.0, true, [40_000, 5201], &iperf3(number, sent_ms)));
    }
    let analysis = analysis(&list);
    let [flow] = flows(&analysis) else { panic!("one flow") };
    let numbers = flow.lanes[0].numbers.as_ref().unwrap();
    let (totals, held) = (numbers.totals(), numbers.arrivals.held_rate().unwrap());
    assert_eq!(flow.application(), Some(Application::Iperf3));
    assert!(totals.lost.abs_diff(lost) <= 1, "{totals:?}, {lost}");
    assert!((totals.queue_ns.unwrap() - ms(24.0)).abs() < ms(1.5), "{totals:?}");
    let frame_bits = (14 + 20 + 8 + 200) as f64 * 8.0;
    assert!((held.rate_bps / (frame_bits / 1.4e-3) - 1.0).abs() < 0.02, "{held:?}");
}

#[test]
fn losses_by_chance_at_a_constant_rate_are_no_limit() {
    let mut state = 9u64;
    let mut list = Vec::new();
    for number in 1..=4000u32 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 60 > 3 {
            let at = f64::from(number);
            list.push(udp(at + 20.0, true, [40_000, 5201], &iperf3(number, at)));
        }
    }
    let analysis = analysis(&list);
    let numbers = flows(&analysis)[0].lanes[0].numbers.as_ref().unwrap();
    assert!(numbers.totals().lost > 500 && numbers.arrivals.held_rate().is_none());
}

#[test]
fn protocols_are_recognised_by_what_they_hold() {
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[1; 12]].concat();
    let dtls = [&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4][..], &[1; 4]].concat();
    let ntp = [&[0x23][..], &[0; 47]].concat();
    let wireguard = |number: u64| [&[4, 0, 0, 0, 9, 9, 9, 9][..], &number.to_le_bytes(), &[7; 32]].concat();
    let quic = [&[0xc3, 0, 0, 0, 1, 8][..], &[1; 8], &[0], &[0; 1180]].concat();
    let esp = |number: u32| [&[0, 1, 0, 9][..], &number.to_be_bytes(), &[5; 60]].concat();
    let mut list = vec![
        udp(0.0, true, [40_001, 3478], &stun),
        udp(1.0, true, [40_002, 4433], &dtls),
        udp(2.0, true, [40_003, 123], &ntp),
        udp(3.0, true, [40_004, 443], &quic),
    ];
    for number in 1..5 {
        list.push(udp(3.0 + number as f64, true, [40_005, 51_820], &wireguard(number)));
        list.push(udp(3.1 + number as f64, true, [4500, 4500], &esp(2 * number as u32)));
    }
    let random: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(151)).collect();
    list.extend((0..9).map(|at| udp(20.0 + f64::from(at), true, [40_006, 9999], &random)));
    let analysis = analysis(&list);
    let found: Vec<_> = flows(&analysis).iter().map(Flow::application).collect();
    use Application::{Dtls, Esp, Ntp, Quic, Stun, WireGuard};
    assert_eq!(found, [Some(Stun), Some(Dtls), Some(Ntp), Some(Quic), Some(WireGuard), Some(Esp), None]);
    assert_eq!(flows(&analysis)[5].lanes[0].totals().unwrap().lost, 3);
    assert_eq!(flows(&analysis)[3].protocol_name(), "quic");
}

#[test]
fn every_frame_is_counted_once_by_its_protocol() {
    let mut list = Talk::seen_at_server(10.0).frames().to_vec();
    let tcp = list.len() as u64;
    list.push(udp(900.0, true, [1, 2], b"x"));
    list.push(ip(901.0, true, 89, &[0; 24]));
    for (kind, payload) in [(0x0806u16, &[0u8; 28][..]), (0x88cc, &[0; 20]), (0x0800, &[0x45, 0])] {
        let bytes = frames::ethernet(kind, payload);
        list.push(frame(START_NS + ms(902.0), bytes.len() as u32, &bytes));
    }
    let analysis = analysis(&list);
    let protocols = &analysis.datagrams.protocols;
    let count = |name: &str| protocols.iter().find(|(known, _)| known == name).map(|(_, amount)| amount.packets);
    let names = ["tcp", "udp", "ospf", "arp", "lldp", "bad_ip_header"];
    assert_eq!(names.map(count), [Some(tcp), Some(1), Some(1), Some(1), Some(1), Some(1)]);
    let bytes: u64 = protocols.iter().map(|(_, amount)| amount.wire_bytes).sum();
    assert_eq!(bytes, list.iter().map(|frame| u64::from(frame.original_length)).sum::<u64>());
}

#[test]
fn errors_find_the_flow_that_they_quote() {
    let question = udp(0.0, true, [40_000, 9999], b"anybody there?");
    let quoted = &question.bytes[14..14 + 28];
    let error = ip(1.0, false, 1, &[&[3, 3, 0, 0, 0, 0, 0, 0], quoted].concat());
    let mut other = quoted.to_vec();
    other[20..22].copy_from_slice(&7u16.to_be_bytes());
    let nobodys = ip(2.0, false, 1, &[&[3, 3, 0, 0, 0, 0, 0, 0], &other[..]].concat());
    let analysis = analysis(&[question.clone(), error, nobodys]);
    let [flow] = flows(&analysis) else { panic!("one flow") };
    assert_eq!(flow.icmp_errors.as_ref().unwrap().list.len(), 1);
    assert_eq!((flow.is_unanswered(), analysis.datagrams.errors_of_none), (Some(true), 1));
}

#[test]
fn neighbours_that_do_not_reply_are_told_from_those_that_do() {
    let arp = |time_ms: f64, operation: u8, by: u8, address: u8| {
        let ends = [&[2; 6][..], &[198, 18, 0, by], &[0; 6], &[198, 18, 0, address]].concat();
        let bytes = frames::ethernet(0x0806, &[&[0, 1, 8, 0, 6, 4, 0, operation], &ends[..]].concat());
        frame(START_NS + ms(time_ms), bytes.len() as u32, &bytes)
    };
    let list = [arp(0.0, 1, 1, 2), arp(1.0, 2, 2, 1), arp(2.0, 1, 1, 9), arp(1002.0, 1, 1, 9), arp(1003.0, 1, 5, 5)];
    let analysis = analysis(&list);
    let found = analysis.datagrams.neighbours.list();
    let said: Vec<_> = found.iter().map(|one| (one.address.to_string(), one.requests, one.replies)).collect();
    assert_eq!(said, [("198.18.0.2".to_owned(), 1, 1), ("198.18.0.9".to_owned(), 2, 0)]);
}

#[test]
fn fragments_of_a_datagram_are_one_of_a_flow() {
    let whole = udp(0.0, true, [40_000, 9999], &[1; 1480]);
    let payload = &whole.bytes[34..];
    let piece = |time_ms: f64, field: u16, part: &[u8]| {
        let bytes = frames::ethernet(0x0800, &frames::ipv4_with(&[], field, 17, part));
        frame(START_NS + ms(time_ms), bytes.len() as u32, &bytes)
    };
    let list = [piece(0.0, 0x2000, &payload[..800]), piece(1.0, 100, &payload[800..]), piece(2.0, 0x2064, &[0; 80])];
    let analysis = analysis(&list);
    let [flow] = flows(&analysis) else { panic!("one flow") };
    assert_eq!((flow.lanes[0].packets, flow.lanes[0].payload_bytes), (1, 1480));
    let counts: Vec<_> = analysis.datagrams.protocols.iter().map(|(name, one)| (&**name, one.packets)).collect();
    assert_eq!(counts, [("udp", 2), ("fragment_incomplete", 1)]);
}

#[test]
fn a_flood_of_flows_is_bounded_and_the_rest_is_summed() {
    let list: Vec<_> = (0..140_000u32)
        .map(|number| {
            let mut one = udp(f64::from(number) / 100.0, true, [1024 + (number % 60_000) as u16, 9999], b"spoofed");
            one.bytes[28] = (number / 60_000) as u8;
            one
        })
        .collect();
    let analysis = analysis_of(&list, &Options::default());
    let kept: u64 = flows(&analysis).iter().map(|flow| flow.amount().packets).sum();
    assert_eq!((flows(&analysis).len(), kept), (1 << 17, 1 << 17));
    assert_eq!(analysis.datagrams.flows.not_kept().packets, 140_000 - (1 << 17));
    assert!(json_of(&analysis).len() < 10_000_000);
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_datagrams_add_up(
        list in prop::collection::vec(
            (any::<bool>(), 0u16..4, prop::sample::select(vec![53u16, 123, 443, 4500, 4789, 5004]),
             prop::collection::vec(any::<u8>(), 0..64)), 0..60),
    ) {
        let list: Vec<_> = list.iter().zip(0..).map(|((from_client, port, server, payload), at)| {
            udp(f64::from(at), *from_client, [40_000 + port, *server], payload)
        }).collect();
        let analysis = analysis_of(&list, &Options::default());
        let packets: u64 = analysis.datagrams.protocols.iter().map(|(_, amount)| amount.packets).sum();
        prop_assert_eq!(packets, list.len() as u64);
        json_of(&analysis);
    }
}

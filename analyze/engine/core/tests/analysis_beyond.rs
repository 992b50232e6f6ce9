//! Frames without TCP in runs of their own: names, flows and what connections waited for are those of one reading.
//!
//! Subjects: `analysis/slices/beyond.rs`, `analysis/slices/frames.rs`, `analysis/outline.rs`.

use std::collections::BTreeMap;
use std::io::Cursor;

use crate::datagram_flows::{in_vxlan, ip, udp};
use crate::playbook::captures::{Frame, plain_pcap};
use crate::playbook::*;
use serde_json::Value;
use vmtrace_core::analysis::slices::beyond::{Outlined, beyond};
use vmtrace_core::analysis::slices::bucket::{Slice, analyze_slices};
use vmtrace_core::analysis::slices::split::split;
use vmtrace_core::analysis::{Analysis, Inputs, NoObserver, Options, analyze};
use vmtrace_core::output::lookups::of_connections;
use vmtrace_core::read::{self, Input};

const BUCKETS: u32 = 3;

fn opened(file: &[u8]) -> Vec<Input> {
    vec![Box::new(Cursor::new(file.to_vec()))]
}

/// A message about `api.example`: its question, or the response with one address.
fn message(address: Option<[u8; 4]>) -> Vec<u8> {
    let flags_and_counts: &[u8] = match address {
        None => &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        Some(_) => &[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0],
    };
    let question = b"\x03api\x07example\0\0\x01\0\x01";
    let mut whole = [&[0, 7][..], flags_and_counts, question].concat();
    if let Some(address) = address {
        whole.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        whole.extend(address);
    }
    whole
}

/// That message between the connection's client and its resolver.
fn of_name(time_ms: f64, address: Option<[u8; 4]>) -> Frame {
    let from_client = address.is_none();
    let mut frame = udp(time_ms, from_client, [50_001, 53], &message(address));
    // Behind Ethernet, the addresses of IPv4.
    let ends = &mut frame.bytes[26..34];
    ends.copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 53]);
    if !from_client {
        ends.rotate_left(4);
    }
    frame
}

/// A name that is asked for twice before its answer, the connection that follows, datagrams and echoes.
fn capture() -> Vec<Frame> {
    let talk = Talk::new().between(1, 40_000, 2, 443);
    let talk = talk.client(3_000.0, syn()).server(3_020.0, syn_ack()).client(3_020.1, ack(0));
    let talk = talk.client(3_021.0, data(0, 300)).server(3_041.0, ack(300));
    let mut frames = talk.frames().to_vec();
    frames.push(of_name(500.0, None));
    frames.push(of_name(1_500.0, None));
    frames.push(of_name(2_990.0, Some([10, 0, 0, 2])));
    for number in 0..40_u16 {
        let at_ms = 100.0 * f64::from(number);
        let head =
            [&[0x80, 96][..], &(number * 2).to_be_bytes(), &u32::from(number).to_be_bytes(), &[0, 0, 0, 9]].concat();
        frames.push(udp(at_ms + 1.0, true, [5_004, 6_004], &[&head[..], &[0; 160]].concat()));
        let [high, low] = number.to_be_bytes();
        frames.push(ip(at_ms + 2.0, true, 1, &[8, 0, 0, 0, 0, 9, high, low]));
        if number % 3 > 0 {
            frames.push(ip(at_ms + 90.0, false, 1, &[0, 0, 0, 0, 0, 9, high, low]));
        }
    }
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

/// What is no TCP of files that are a run each, with the connections of all buckets.
fn apart(files: &[Vec<u8>]) -> Analysis {
    let mut slices: Vec<BTreeMap<u32, Vec<u8>>> = Vec::new();
    let mut before = Vec::new();
    let mut packets = 0;
    for file in files {
        let mut found = BTreeMap::<u32, Vec<u8>>::new();
        let mut sink = |bucket: u32, piece: Vec<u8>| {
            found.entry(bucket).or_default().extend(piece);
            true
        };
        let run = split(read::open(opened(file)), BUCKETS, 1, &Options::default(), &NoObserver, &mut sink).unwrap();
        before.push(packets);
        packets += run.packets;
        slices.push(found);
    }
    let open = |bucket: u32| {
        let slice = |(run, found): (usize, &BTreeMap<u32, Vec<u8>>)| Slice {
            reader: Box::new(Cursor::new(found.get(&bucket).cloned().unwrap_or_default())),
            first_place: before[run],
            inputs: vec![run as u16],
        };
        slices.iter().enumerate().map(slice).collect::<Vec<_>>()
    };
    let inputs = Inputs { count: files.len(), ..Inputs::default() };
    let of_bucket = |bucket| analyze_slices(&|| Ok(open(bucket)), &inputs, &Options::default(), &NoObserver).unwrap();
    let buckets: Vec<Analysis> = (0..BUCKETS).map(of_bucket).collect();
    let mut orders: Vec<u64> = buckets.iter().flat_map(|one| &one.connections).map(|one| one.order).collect();
    orders.sort_unstable();
    let number = |order: u64| orders.binary_search(&order).unwrap() as u32 + 1;
    let numbers: Vec<Vec<u32>> =
        buckets.iter().map(|one| one.connections.iter().map(|summary| number(summary.order)).collect()).collect();
    let outlined: Vec<_> = buckets
        .iter()
        .zip(&numbers)
        .map(|(one, numbers)| Outlined { outlines: &one.packed_outlines, numbers })
        .collect();
    beyond(&|| Ok(open(BUCKETS)), &outlined, &Options::default(), &NoObserver).unwrap()
}

fn said(analysis: &Analysis) -> Vec<Value> {
    let document: Value = serde_json::from_str(&json_of(analysis)).unwrap();
    let keys = ["lookups", "lookup_totals", "flows", "flows_not_listed", "neighbours", "tunnels"];
    keys.map(|key| document[key].clone()).to_vec()
}

#[test]
fn runs_one_behind_the_other_say_what_one_reading_says() {
    let frames = capture();
    let files: Vec<Vec<u8>> = frames.chunks(frames.len() / 4).map(plain_pcap).collect();
    let inputs = files.iter().flat_map(|file| opened(file)).collect();
    let whole = analyze(inputs, &Options::default(), &NoObserver).unwrap();
    let found = apart(&files);
    assert_eq!(said(&found), said(&whole));
    assert_eq!(found.echoes.list(), whole.echoes.list());
    assert_eq!((found.resolutions.list.len(), found.resolutions.list[0].tries), (1, 2));
    assert_eq!(of_connections(&found), of_connections(&whole));
}

#[test]
fn flows_of_all_runs_are_in_the_tunnels_that_one_reading_finds() {
    let frames: Vec<Frame> = capture().iter().map(|frame| in_vxlan(frame, true)).collect();
    let files: Vec<Vec<u8>> = frames.chunks(frames.len() / 4).map(plain_pcap).collect();
    let inputs = files.iter().flat_map(|file| opened(file)).collect();
    let whole = said(&analyze(inputs, &Options::default(), &NoObserver).unwrap());
    assert_eq!(said(&apart(&files)), whole);
    // Names, media, echoes; all in one tunnel with the connection.
    let flows = whole[2].as_array().unwrap();
    assert!(flows.len() == 3 && flows.iter().all(|flow| flow["tunnel"][0]["id"] == 7), "{flows:?}");
    let counts = ["connections_count", "flows_count"].map(|key| whole[5][0][key].as_u64());
    assert_eq!(counts, [Some(1), Some(3)]);
}

#[test]
fn frames_that_are_cut_short_are_refused_and_so_are_outlines() {
    let file = plain_pcap(&capture());
    let mut bytes = Vec::new();
    let mut sink = |bucket: u32, piece: Vec<u8>| {
        if bucket == BUCKETS {
            bytes.extend(piece);
        }
        true
    };
    split(read::open(opened(&file)), BUCKETS, 1, &Options::default(), &NoObserver, &mut sink).unwrap();
    let refused = |length: usize, outlines: &[u8]| {
        let reader = || Box::new(Cursor::new(bytes[..length].to_vec())) as Input;
        let open = || Ok(vec![Slice { reader: reader(), first_place: 0, inputs: vec![0] }]);
        let outlined = [Outlined { outlines, numbers: &[] }];
        beyond(&open, &outlined, &Options::default(), &NoObserver).err().map(|failure| failure.to_string())
    };
    assert_eq!(refused(bytes.len(), &[]), None);
    for length in [1, 11, 13, bytes.len() / 2, bytes.len() - 1] {
        assert!(refused(length, &[]).is_some_and(|why| why.contains("damaged slice")), "{length}");
    }
    assert!(refused(bytes.len(), &[1]).is_some_and(|why| why.contains("damaged")));
}

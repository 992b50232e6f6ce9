//! Decoding of real captures, held against tshark: the same frames, and the same fields in each of them.
//!
//! The captures are found by `VMTRACE_TRACES`, or in `shared/traces` beside the repository. Without them, or without
//! tshark, the test says so and passes.
//!
//! Subjects: `decode/batch.rs`, `decode/reason.rs`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use vmtrace_core::decode::fragments::Reassembler;
use vmtrace_core::decode::{Batch, Undecoded};
use vmtrace_core::packet::{Packet, option_bits};
use vmtrace_core::read::{Chunk, Record};

/// Captures whose contents were damaged on purpose; there tshark and the decoder rightly differ on what to believe.
const DAMAGED: [&str; 2] = [
    // Random bytes in headers: tshark shows TCP fields of segments whose header length is impossible.
    "nDPI__fuzz-2006-09-29-28586.pcap",
    // Version, link type and snap length of the file header are random.
    "PcapPlusPlus__clusterfuzz-5755755617189888.pcap",
];

/// What both sides know of a segment: ports, sequence, payload bytes, header bytes, flags, window, TTL, timestamp.
type Fields = [u64; 9];
const PAYLOAD_LENGTH: usize = 3;
const TIMESTAMP: usize = 8;

/// Captures of tunnels, whose headers take more than the usual snap lengths.
const TUNNELS: [&str; 3] = ["zeek__gre-aruba.pcap", "mercury__geneve.pcap", "nDPI__vxlan.pcap"];

/// Captures that were cut by a program which also shortened the frames' length on the wire. tshark believes that length
/// and shortens the payload; the IP header still has the true one.
const LENGTHS_LOST: [&str; 1] = ["tcptrace__fast_reuse.dmp.gz"];

fn traces() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces");
    let folder = std::env::var_os("VMTRACE_TRACES").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

fn contents(path: &Path) -> Vec<u8> {
    let raw = std::fs::read(path).unwrap();
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return raw;
    }
    let mut bytes = Vec::new();
    flate2::read::MultiGzDecoder::new(&raw[..]).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The records of a pcap file; none if it is of another format.
fn walk(bytes: Vec<u8>) -> Option<Chunk> {
    let magic: [u8; 4] = *bytes.first_chunk()?;
    let little = matches!(magic, [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]);
    if !little && !matches!(magic, [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d]) {
        return None;
    }
    let number = |at: usize| -> Option<u32> {
        let raw = *bytes.get(at..)?.first_chunk()?;
        Some(if little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) })
    };
    let link_type = number(20)? as u16;
    let mut records = Vec::new();
    let mut at = 24;
    while let (Some(seconds), Some(captured_length), Some(original_length)) =
        (number(at), number(at + 8), number(at + 12))
    {
        if bytes.len() < at + 16 + captured_length as usize {
            break;
        }
        records.push(Record {
            time_ns: i64::from(seconds) * 1_000_000_000,
            offset: at as u32 + 16,
            captured_length,
            original_length,
            frame: records.len() as u32 + 1,
            link_type,
            ..Record::default()
        });
        at += 16 + captured_length as usize;
    }
    Some(Chunk { bytes, records, stretch: None })
}

fn fields(packet: &Packet) -> Fields {
    let tsval = if packet.options & option_bits::TIMESTAMPS != 0 { packet.tsval } else { 0 };
    [
        packet.ports >> 16,
        packet.ports & 0xffff,
        packet.sequence,
        packet.payload_length,
        u32::from(packet.tcp_header_length),
        u32::from(packet.flags),
        u32::from(packet.window),
        u32::from(packet.ttl),
        tsval,
    ]
    .map(u64::from)
}

/// tshark's view of the innermost segment of each TCP frame.
fn tshark(path: &Path) -> Option<BTreeMap<u32, Fields>> {
    let names = "frame.number tcp.srcport tcp.dstport tcp.seq_raw tcp.len tcp.hdr_len tcp.flags tcp.window_size_value \
                 ip.ttl ipv6.hlim tcp.options.timestamp.tsval";
    let mut command = Command::new("tshark");
    // ICMP errors quote TCP headers, which are no segments.
    command.args(["-n", "-E", "occurrence=l", "-T", "fields", "-Y", "tcp and not icmp and not icmpv6", "-r"]).arg(path);
    command.args(["-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.analyze_sequence_numbers:FALSE"]);
    for name in names.split_whitespace() {
        command.args(["-e", name]);
    }
    let text = String::from_utf8(command.output().ok()?.stdout).ok()?;
    let number = |field: &str| match field.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).unwrap_or(0),
        None => field.parse().unwrap_or(0),
    };
    let line = |line: &str| {
        let all: Vec<u64> = line.split('\t').map(number).collect();
        let [frame, source, destination, sequence, length, header, flags, window, ttl, hop_limit, tsval] = all[..]
        else {
            panic!("{line}");
        };
        let ttl = if ttl == 0 { hop_limit } else { ttl };
        (frame as u32, [source, destination, sequence, length, header, flags & 0x1ff, window, ttl, tsval])
    };
    Some(text.lines().map(line).collect())
}

fn decode(mut chunk: Chunk) -> (Batch, u64) {
    let (mut batch, mut reassembler) = (Batch::default(), Reassembler::new());
    batch.decode(&mut chunk);
    batch.join_fragments(&mut chunk, &mut reassembler);
    reassembler.finish(&mut batch.counts);
    (batch, chunk.records.len() as u64)
}

/// Compares one capture; returns the number of segments, or none where tshark is absent.
fn compare(name: &str, path: &Path, batch: &Batch) -> Option<usize> {
    let mut expected = tshark(path)?;
    let mut found: BTreeMap<u32, Fields> =
        batch.packets().iter().map(|packet| (packet.frame, fields(packet))).collect();
    if LENGTHS_LOST.contains(&name) {
        found.values_mut().chain(expected.values_mut()).for_each(|fields| fields[PAYLOAD_LENGTH] = 0);
    }
    let differing: Vec<_> = found
        .keys()
        .chain(expected.keys())
        .filter(|&frame| found.get(frame) != expected.get(frame))
        .map(|frame| (frame, found.get(frame), expected.get(frame)))
        .collect();
    assert!(
        differing.is_empty(),
        "{name}: {} differ, first {:?}",
        differing.len(),
        &differing[..differing.len().min(5)]
    );
    Some(expected.len())
}

#[test]
fn real_captures_give_tsharks_segments() {
    let Some(folder) = traces() else {
        eprintln!("skipped: no captures (set VMTRACE_TRACES)");
        return;
    };
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(chunk) = walk(contents(&path)) else { continue };
        let (batch, frames) = decode(chunk);
        assert_eq!(batch.packets().len() as u64 + batch.counts.together().total(), frames, "{name}");
        let counts: Vec<_> = batch.counts.together().iter().map(|(reason, frames)| (reason.name(), frames)).collect();
        eprintln!("{name}: {} segments of {frames} frames, {counts:?}", batch.packets().len());
        if DAMAGED.contains(&name.as_str()) {
            continue;
        }
        assert!(!counts.iter().any(|(name, _)| name.starts_with("unknown_link_type")), "{name}");
        assert_eq!(batch.counts.together().of(Undecoded::TunnelTooDeep), 0, "{name}");
        match compare(&name, &path, &batch) {
            Some(segments) => compared += segments,
            None => eprintln!("{name}: not compared, no tshark"),
        }
    }
    eprintln!("{compared} segments compared with tshark");
}

#[test]
fn real_captures_cut_shorter_give_the_same_segments() {
    let Some(folder) = traces() else {
        eprintln!("skipped: no captures (set VMTRACE_TRACES)");
        return;
    };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(whole) = walk(contents(&path)).filter(|_| !DAMAGED.contains(&name.as_str())) else { continue };
        let (links, bytes, records) =
            (whole.records.first().map(|record| record.link_type), &whole.bytes, &whole.records);
        let expected: BTreeMap<u32, Packet> = {
            let chunk = Chunk { bytes: bytes.clone(), records: records.clone(), stretch: None };
            decode(chunk).0.packets().iter().map(|packet| (packet.frame, *packet)).collect()
        };
        for snap_length in [40, 64, 96, 128] {
            let cut = |record: &Record| Record { captured_length: record.captured_length.min(snap_length), ..*record };
            let chunk = Chunk { bytes: bytes.clone(), records: records.iter().map(cut).collect(), stretch: None };
            let (batch, _) = decode(chunk);
            for packet in batch.packets() {
                let whole = expected.get(&packet.frame).unwrap_or_else(|| panic!("{name}: {packet:?}"));
                let told = packet.options & (option_bits::CUT | option_bits::MALFORMED) != 0;
                let (mut found, mut known) = (fields(packet), fields(whole));
                if told {
                    (found[TIMESTAMP], known[TIMESTAMP]) = (0, 0);
                }
                assert_eq!(found, known, "{name} at {snap_length}, frame {}", packet.frame);
                assert_eq!(packet.flow_hash, whole.flow_hash, "{name} at {snap_length}, frame {}", packet.frame);
            }
            // 128 bytes hold all headers of everything that is no tunnel.
            if snap_length == 128
                && matches!(links, Some(1 | 101 | 113 | 228 | 276))
                && !TUNNELS.contains(&name.as_str())
            {
                assert_eq!(batch.packets().len(), expected.len(), "{name}");
            }
        }
    }
}

//! Captures read through tshark for the TLS tests: a second, independent decoder of link layers, tunnels and TLS.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use vmtrace_core::tls::{StreamBytes, StreamDirection, TlsFacts, TlsTracker};

pub const DIRECTIONS: [StreamDirection; 2] = [StreamDirection::ClientToServer, StreamDirection::ServerToClient];

/// Path of a trace; none, with the reason printed, if it is not at hand.
pub fn trace(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces");
    let folder = std::env::var_os("VMTRACE_TRACES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        println!("skipped: {name} is not in {} (set VMTRACE_TRACES)", folder.display());
        return None;
    }
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return None;
    }
    Some(path)
}

/// One row for each packet that passes `filter`: the values of `fields`, several of one field joined by commas.
pub fn tshark(path: &Path, options: &[&str], filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-n", "-o", "tcp.reassemble_out_of_order:TRUE"]);
    command.args(options).args(["-Y", filter, "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// A payload segment of a connection.
#[derive(Debug, Clone)]
pub struct Segment {
    pub direction: StreamDirection,
    pub offset: u64,
    pub captured: Vec<u8>,
    pub length: u32,
    pub time_ns: i64,
    pub retransmitted: bool,
}

/// One connection's segments in file order, each stream byte once.
#[derive(Debug, Default)]
pub struct Connection {
    client: Option<String>,
    first_sequence: [Option<u32>; 2],
    passed: [Vec<(u64, u64)>; 2],
    highest: [u64; 2],
    pub segments: Vec<Segment>,
}

/// All TCP connections of a capture by tshark's stream number.
pub fn connections(path: &Path) -> BTreeMap<u32, Connection> {
    let fields = [
        "tcp.stream",
        "frame.time_epoch",
        "ip.src",
        "ipv6.src",
        "tcp.srcport",
        "tcp.seq_raw",
        "tcp.len",
        "tcp.flags",
        "tcp.payload",
    ];
    let mut connections: BTreeMap<u32, Connection> = BTreeMap::new();
    // Segments quoted in ICMP errors are no segments of a connection.
    for row in tshark(path, &[], "tcp && !icmp && !icmpv6", &fields) {
        let [stream, time, ip4, ip6, port, sequence, length, flags, payload] = row.as_slice() else {
            panic!("{row:?}")
        };
        let source = format!("{ip4}{ip6}:{port}");
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap();
        let connection = connections.entry(stream.parse().unwrap()).or_default();
        connection.packet(
            &source,
            flags,
            sequence.parse().unwrap(),
            length.parse().unwrap(),
            unhex(payload),
            nanoseconds(time),
        );
    }
    connections
}

impl Connection {
    #[allow(clippy::too_many_arguments)]
    fn packet(&mut self, source: &str, flags: u32, sequence: u32, length: u32, payload: Vec<u8>, time_ns: i64) {
        let (syn, ack) = (flags & 2 != 0, flags & 16 != 0);
        let client = self.client.get_or_insert_with(|| source.to_owned());
        let index = usize::from((client != source) != (syn && ack && self.segments.is_empty() && client == source));
        let first = sequence.wrapping_add(u32::from(syn));
        if syn || (self.first_sequence[index].is_none() && length > 0) {
            self.first_sequence[index] = Some(first);
        }
        let (Some(start), true) = (self.first_sequence[index], length > 0) else {
            return;
        };
        let offset = first.wrapping_sub(start);
        if offset > 1 << 31 {
            return;
        }
        let offset = u64::from(offset);
        let end = offset + u64::from(length);
        let retransmitted = offset < self.highest[index];
        self.highest[index] = self.highest[index].max(end);
        for (from, to) in self.new_ranges(index, offset, end) {
            let skip = (from - offset) as usize;
            let captured = payload.get(skip..).unwrap_or_default();
            let captured = captured[..captured.len().min((to - from) as usize)].to_vec();
            let direction = DIRECTIONS[index];
            self.segments.push(Segment {
                direction,
                offset: from,
                captured,
                length: (to - from) as u32,
                time_ns,
                retransmitted,
            });
        }
    }

    /// Parts of `from..to` that have not passed, which then have.
    fn new_ranges(&mut self, index: usize, from: u64, to: u64) -> Vec<(u64, u64)> {
        let passed = &mut self.passed[index];
        let mut fresh = Vec::new();
        let mut at = from;
        for &(start, end) in passed.iter() {
            if end <= at || start >= to {
                continue;
            }
            if start > at {
                fresh.push((at, start));
            }
            at = at.max(end);
        }
        if at < to {
            fresh.push((at, to));
        }
        passed.extend(&fresh);
        passed.sort_unstable();
        fresh
    }
}

/// Runs the tracker over segments, with holes given up at the end.
pub fn track(segments: &[Segment]) -> TlsTracker {
    let mut tracker = TlsTracker::new();
    let mut ends = [0_u64; 2];
    for s in segments {
        tracker.segment(s.direction, s.offset, &s.captured, s.length, s.time_ns, s.retransmitted);
        let end = &mut ends[usize::from(s.direction == StreamDirection::ServerToClient)];
        *end = (*end).max(s.offset + u64::from(s.length));
    }
    for (direction, end) in DIRECTIONS.into_iter().zip(ends) {
        tracker.skip_hole(direction, end);
    }
    tracker
}

/// Facts and bytes of both directions.
pub fn read(segments: &[Segment]) -> (Option<TlsFacts>, [StreamBytes; 2]) {
    let tracker = track(segments);
    (tracker.facts(), DIRECTIONS.map(|direction| tracker.stream_bytes(direction)))
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

/// Unix nanoseconds of "1.5".
pub fn nanoseconds(text: &str) -> i64 {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let nanoseconds = format!("{fraction:0<9}")[..9].parse::<i64>().unwrap();
    let seconds = seconds.parse::<i64>().unwrap();
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// Asserts that the three parts of each direction are all its first-time bytes.
pub fn assert_bytes_sum(segments: &[Segment], bytes: [StreamBytes; 2]) {
    for (direction, parts) in DIRECTIONS.into_iter().zip(bytes) {
        let fresh = segments.iter().filter(|s| s.direction == direction && !s.retransmitted);
        let passed: u64 = fresh.map(|s| u64::from(s.length)).sum();
        assert_eq!(parts.tls_handshake + parts.tls_record + parts.application, passed, "{direction:?}");
    }
}

//! The least that any analyzer of TCP must do with the bench's own captures (little-endian pcap, Ethernet, IPv4): find each
//! packet's connection, take round-trip times of what is acknowledged, count segments retransmitted.
//!
//! No options, no statistics but a mean, no doubt about anything: a floor to measure by, and nothing to rely on.
//!
//! ```text
//! bench_minimal FILE
//! ```

use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::Read;

use hashbrown::HashTable;

const BUFFER_BYTES: usize = 1 << 20;
const FILE_HEADER_BYTES: usize = 24;
const RECORD_HEADER_BYTES: usize = 16;
const ETHERNET_BYTES: usize = 14;
/// Ethernet, IPv4 and TCP without options.
const HEADERS_BYTES: usize = ETHERNET_BYTES + 40;
const SYN_OR_FIN: u8 = 0x03;
const ACK: u8 = 0x10;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: bench_minimal FILE")?;
    let mut connections = Connections::default();
    let packets = for_each_frame(File::open(path)?, |time_ns, frame| connections.take(time_ns, frame))?;
    let ways = || connections.all.iter().flat_map(|connection| &connection.ways);
    let samples: u64 = ways().map(|way| way.rtt_samples).sum();
    let rtt_ns: u64 = ways().map(|way| way.rtt_sum_ns).sum();
    println!(
        "{{\"packets\": {packets}, \"connections\": {}, \"retransmitted_segments\": {}, \"rtt_mean_s\": {:.6}}}",
        connections.all.len(),
        ways().map(|way| way.retransmitted_segments).sum::<u64>(),
        rtt_ns as f64 / 1e9 / samples.max(1) as f64,
    );
    Ok(())
}

/// Calls `take` with the time and the bytes of each frame; returns how many there were.
fn for_each_frame(mut file: File, mut take: impl FnMut(u64, &[u8])) -> std::io::Result<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut filled, mut at, mut packets) = (0, FILE_HEADER_BYTES, 0);
    loop {
        let count = file.read(&mut buffer[filled..])?;
        if count == 0 {
            return Ok(packets);
        }
        filled += count;
        let bytes = &buffer[..filled];
        while let Some(header) = bytes.get(at..at + RECORD_HEADER_BYTES) {
            let word = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let begin = at + RECORD_HEADER_BYTES;
            let Some(frame) = bytes.get(begin..begin + word(8) as usize) else { break };
            take(u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)), frame);
            packets += 1;
            at = begin + frame.len();
        }
        buffer.copy_within(at..filled, 0);
        (filled, at) = (filled - at, 0);
    }
}

/// What one end of a connection sends.
#[derive(Default)]
struct Way {
    has_sent: bool,
    /// Behind the last byte sent.
    next: u32,
    /// Sent once, not acknowledged: the sequence number behind it, and when.
    outstanding: VecDeque<(u32, u64)>,
    retransmitted_segments: u64,
    rtt_samples: u64,
    rtt_sum_ns: u64,
}

struct Connection {
    /// Both ends, the smaller first.
    ends: [u64; 2],
    ways: [Way; 2],
}

#[derive(Default)]
struct Connections {
    table: HashTable<u32>,
    all: Vec<Connection>,
}

impl Connections {
    fn take(&mut self, time_ns: u64, frame: &[u8]) {
        // Ethernet, IPv4 without options, TCP: what the bench makes.
        if frame.len() < HEADERS_BYTES || frame[12..15] != [0x08, 0x00, 0x45] || frame[23] != 6 {
            return;
        }
        let (ip, tcp) = (&frame[ETHERNET_BYTES..], &frame[ETHERNET_BYTES + 20..]);
        let end = |address: usize, port: usize| u64::from(u32_at(ip, address)) << 16 | u64::from(u16_at(tcp, port));
        let (source, destination) = (end(12, 0), end(16, 2));
        let (sequence, acknowledgement, flags) = (u32_at(tcp, 4), u32_at(tcp, 8), tcp[13]);
        let payload_bytes = u32::from(u16_at(ip, 2)).saturating_sub(20 + u32::from(tcp[12] >> 4) * 4);
        let [one, other] = &mut self.of([source.min(destination), source.max(destination)]).ways;
        let (own, peer) = if source < destination { (one, other) } else { (other, one) };
        let length = payload_bytes + u32::from(flags & SYN_OR_FIN != 0);
        if length > 0 {
            own.send(sequence.wrapping_add(length), payload_bytes > 0, time_ns);
        }
        if flags & ACK != 0 {
            peer.acknowledge(acknowledgement, time_ns);
        }
    }

    fn of(&mut self, ends: [u64; 2]) -> &mut Connection {
        let hash =
            |ends: [u64; 2]| (ends[0] ^ ends[1].rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
        let Self { table, all } = self;
        let known = table.find(hash(ends), |&index| all[index as usize].ends == ends);
        let index = known.copied().unwrap_or_else(|| {
            let index = all.len() as u32;
            all.push(Connection { ends, ways: Default::default() });
            table.insert_unique(hash(ends), index, |&index| hash(all[index as usize].ends));
            index
        });
        &mut self.all[index as usize]
    }
}

impl Way {
    fn send(&mut self, end: u32, is_data: bool, time_ns: u64) {
        if !self.has_sent || is_behind(end, self.next) {
            (self.has_sent, self.next) = (true, end);
            self.outstanding.push_back((end, time_ns));
        } else {
            self.retransmitted_segments += u64::from(is_data);
            // Karn: which of the two is acknowledged, nobody can tell.
            self.outstanding.clear();
        }
    }

    fn acknowledge(&mut self, acknowledgement: u32, time_ns: u64) {
        while let Some(&(end, sent_ns)) = self.outstanding.front()
            && !is_behind(end, acknowledgement)
        {
            self.outstanding.pop_front();
            self.rtt_samples += 1;
            self.rtt_sum_ns += time_ns - sent_ns;
        }
    }
}

/// Sequence number `a` comes after `b` (RFC 9293, section 3.4).
fn is_behind(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes[at..].first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

//! A few words that write down a TCP conversation as a capture would show it, event by event, and analyse it.
//!
//! ```ignore
//! let talk = Talk::seen_at_client(40.0)          // SYN at 0 ms, SYN-ACK at 40 ms, ACK at 40.1 ms
//!     .client(50.0, data(0, 1000))               // 1000 bytes from position 0, captured at 50 ms
//!     .server(90.0, ack(1000));
//! assert_eq!(talk.summary().directions[CLIENT].round_trips...);
//! ```
//!
//! Positions count from the first payload byte of a side. What a line does not say is filled in as a plain stack would:
//! identifications count up by wire segments, an acknowledgement repeats the last one of its side, timestamps (if in use)
//! tick once a millisecond. Segments are made in [`segment`]; [`Talk`] gives them addresses, numbers and times.

pub(crate) use crate::captures;
pub mod gaps;
pub mod hostile;
pub mod in_parts;
pub mod invariants;
pub mod modelled;
pub mod segment;
pub mod two_points;

pub use in_parts::InParts;
pub use segment::*;

use captures::{Frame, Slow, plain_pcap};
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::packet::tcp_flags::{ACK, FIN, SYN};
use vmtrace_core::read::Input;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

/// Index of what the client sends, and of what the server sends.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// Capture time of 0 ms.
pub const START_NS: i64 = 1_700_000_000_000_000_000;
/// Payload of a full segment unless a line says otherwise (the MSS option of both sides, without timestamps).
pub const FULL: u32 = 1000;

pub fn ms(milliseconds: f64) -> i64 {
    (milliseconds * 1e6).round() as i64
}

/// A conversation as captured so far.
#[derive(Clone)]
pub struct Talk {
    pub ipv6: bool,
    pub ports: [u16; 2],
    pub isn: [u32; 2],
    hosts: [u8; 2],
    ttl: [u8; 2],
    timestamps: bool,
    identified: bool,
    clock_offset_ns: i64,
    sent: [i64; 2],
    acknowledged: [i64; 2],
    next_id: [u16; 2],
    last_tsval: [u32; 2],
    frames: Vec<Frame>,
}

impl Talk {
    /// Nothing captured yet.
    pub fn new() -> Self {
        Self {
            ipv6: false,
            ports: [40_000, 443],
            isn: [7_000, 90_000],
            hosts: [1, 2],
            ttl: [57, 57],
            timestamps: false,
            identified: true,
            clock_offset_ns: 0,
            sent: [0; 2],
            acknowledged: [0; 2],
            next_id: [100, 5_000],
            last_tsval: [0; 2],
            frames: Vec::new(),
        }
    }

    /// Opened with the capture beside the client.
    pub fn seen_at_client(rtt_ms: f64) -> Self {
        Self::new().open(rtt_ms, 0.1)
    }

    /// Opened with the capture at the server.
    pub fn seen_at_server(rtt_ms: f64) -> Self {
        Self::new().open(0.1, rtt_ms)
    }

    /// SYN at 0 ms, SYN-ACK after the loop to the server, ACK after the loop to the client.
    pub fn open(self, server_loop_ms: f64, client_loop_ms: f64) -> Self {
        self.open_with_sizes(server_loop_ms, client_loop_ms, [FULL as u16; 2])
    }

    /// The same with other maximum segment sizes, what the client takes and what the server takes.
    pub fn open_with_sizes(self, server_loop_ms: f64, client_loop_ms: f64, [of_client, of_server]: [u16; 2]) -> Self {
        self.client(0.0, syn().mss(of_client))
            .server(server_loop_ms, syn_ack().mss(of_server))
            .client(server_loop_ms + client_loop_ms, ack(0))
    }

    /// Both sides use timestamps.
    pub fn with_timestamps(mut self) -> Self {
        self.timestamps = true;
        self
    }

    /// Identifications are 0 from here on, as where fragmentation is forbidden.
    pub fn without_identifications(mut self) -> Self {
        self.identified = false;
        self
    }

    pub fn over_ipv6(mut self) -> Self {
        self.ipv6 = true;
        self
    }

    pub fn with_isn(mut self, client: u32, server: u32) -> Self {
        self.isn = [client, server];
        (self.sent, self.acknowledged) = ([0; 2], [0; 2]);
        self
    }

    pub fn with_ttl(mut self, client: u8, server: u8) -> Self {
        self.ttl = [client, server];
        self
    }

    pub fn between(mut self, client: u8, client_port: u16, server: u8, server_port: u16) -> Self {
        (self.hosts, self.ports) = ([client, server], [client_port, server_port]);
        self
    }

    /// The capture clock is set by so much: the lines that follow keep true time, their records do not.
    pub fn set_capture_clock(mut self, ahead_ms: f64) -> Self {
        self.clock_offset_ns += ms(ahead_ms);
        self
    }

    /// So many of the client's packets (or the server's) get lost before the capture point: their numbers are missing.
    pub fn lost_before_capture(mut self, side: usize, packets: u16) -> Self {
        self.next_id[side] = self.next_id[side].wrapping_add(packets);
        self
    }

    /// One line of either side.
    pub fn line(self, side: usize, time_ms: f64, segment: Segment) -> Self {
        self.segment(side, time_ms, &segment)
    }

    pub fn client(self, time_ms: f64, segment: Segment) -> Self {
        self.segment(CLIENT, time_ms, &segment)
    }

    pub fn server(self, time_ms: f64, segment: Segment) -> Self {
        self.segment(SERVER, time_ms, &segment)
    }

    /// The last frame once more, bit by bit.
    pub fn again(self, time_ms: f64) -> Self {
        let last = self.frames.len() - 1;
        self.copy_of(last, time_ms)
    }

    /// The `index`-th frame (counted from 0) once more.
    pub fn copy_of(mut self, index: usize, time_ms: f64) -> Self {
        let frame = Frame { time_ns: self.captured_at(time_ms), ..self.frames[index].clone() };
        self.frames.push(frame);
        self
    }

    /// Several lines after one pattern.
    pub fn each<T>(self, items: impl IntoIterator<Item = T>, line: impl Fn(Self, T) -> Self) -> Self {
        items.into_iter().fold(self, line)
    }

    fn captured_at(&self, time_ms: f64) -> i64 {
        START_NS + ms(time_ms) + self.clock_offset_ns
    }

    fn segment(mut self, side: usize, time_ms: f64, segment: &Segment) -> Self {
        let has = |flag: u16| segment.flags & flag != 0;
        let start = segment.start.unwrap_or(self.sent[side]);
        if has(ACK) {
            self.acknowledged[side] = segment.acknowledges.unwrap_or(self.acknowledged[side]);
        }
        let tsval = segment.tsval.unwrap_or((1_000_000 * (side as i64 + 1) + time_ms as i64) as u32);
        let number = Numbers {
            sequence: self.isn[side].wrapping_add(1).wrapping_add(start as u32).wrapping_sub(u32::from(has(SYN))),
            acknowledgement: if has(ACK) {
                self.isn[1 - side].wrapping_add(1).wrapping_add(self.acknowledged[side] as u32)
            } else {
                0
            },
            sack_base: self.isn[1 - side].wrapping_add(1),
            timestamps: self.timestamps.then(|| (tsval, segment.tsecr.unwrap_or(self.last_tsval[1 - side]))),
            id: segment.id.unwrap_or(if self.identified { self.next_id[side] } else { 0 }),
        };
        if segment.id.is_some() || self.identified {
            self.next_id[side] = number.id.wrapping_add(segment.length.div_ceil(FULL).max(1) as u16);
        }
        self.last_tsval[side] = tsval;
        self.sent[side] = self.sent[side].max(start + i64::from(segment.length) + i64::from(has(FIN)));
        let path = Path { ipv6: self.ipv6, hosts: self.hosts, ports: self.ports, ttl: self.ttl[side] };
        let bytes = segment.frame(&if side == CLIENT { path } else { path.reversed() }, &number);
        self.frames.push(Frame {
            time_ns: self.captured_at(time_ms),
            original_length: bytes.len() as u32 + segment.cut(),
            bytes,
        });
        self
    }

    /// The frames in order.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The same from the `first`-th frame on (counted from 0).
    pub fn starting_at(mut self, first: usize) -> Self {
        self.frames.drain(..first);
        self
    }

    /// The snap length leaves so many bytes of each frame.
    pub fn snapped(mut self, length: usize) -> Self {
        self.frames.iter_mut().for_each(|frame| frame.bytes.truncate(length));
        self
    }

    /// Only its first frames.
    pub fn until(mut self, frames: usize) -> Self {
        self.frames.truncate(frames);
        self
    }

    /// What a capture of one direction shows.
    pub fn only(mut self, side: usize) -> Self {
        let offset = if self.ipv6 { 14 + 8 + 15 } else { 14 + 12 + 3 };
        self.frames.retain(|frame| frame.bytes[offset] == self.hosts[side]);
        self
    }

    pub fn analysis(&self) -> Analysis {
        analysis_of(&self.frames, &Options::default())
    }

    pub fn analysis_with(&self, options: &Options) -> Analysis {
        analysis_of(&self.frames, options)
    }

    /// The only connection in it.
    pub fn summary(&self) -> ConnectionSummary {
        let mut analysis = self.analysis();
        assert_eq!(analysis.connections.len(), 1, "one connection");
        check_consistency(&analysis);
        *analysis.connections.remove(0)
    }
}

/// Frames of several conversations in time order.
pub fn merged(talks: &[Talk]) -> Vec<Frame> {
    let mut frames: Vec<Frame> = talks.iter().flat_map(|talk| talk.frames.iter().cloned()).collect();
    frames.sort_by_key(|frame| frame.time_ns);
    frames
}

pub fn analysis_of(frames: &[Frame], options: &Options) -> Analysis {
    analysis_of_files(vec![plain_pcap(frames)], options)
}

pub fn analysis_of_files(files: Vec<Vec<u8>>, options: &Options) -> Analysis {
    let inputs = files.into_iter().map(|file| Box::new(std::io::Cursor::new(file)) as Input).collect();
    analyze(inputs, options, &NoObserver).unwrap()
}

/// Reads so small that a short capture takes many chunks.
pub fn analysis_in_small_chunks(files: &[Vec<u8>], options: &Options) -> Analysis {
    let slow = |file: &Vec<u8>| Box::new(Slow { file: file.clone(), at: 0, step: 2_000 }) as Input;
    analyze(files.iter().map(slow).collect(), options, &NoObserver).unwrap()
}

pub fn json_of(analysis: &Analysis) -> String {
    let mut out = Vec::new();
    let header = JsonHeader { vmtrace_version: "0".to_owned(), input_paths: Vec::new(), ..JsonHeader::default() };
    analysis.write_json(&mut out, &header).unwrap();
    String::from_utf8(out).unwrap()
}

/// What must hold of every result, whatever the capture.
pub fn check_consistency(analysis: &Analysis) {
    invariants::check(analysis);
    for input in &analysis.inputs {
        let undecoded: u64 = input.undecoded.iter().map(|(_, count)| count).sum();
        assert_eq!(input.facts.packets, input.tcp_packets + undecoded, "each frame counts once");
    }
    let all: u64 = analysis.connections.iter().flat_map(|c| &c.directions).map(|direction| direction.packets).sum();
    assert!(all <= analysis.inputs.iter().map(|input| input.tcp_packets).sum());
    for (connection, direction) in analysis.connections.iter().flat_map(|c| c.directions.iter().map(move |d| (c, d))) {
        let (id, loss) = (connection.id, &direction.loss);
        assert_eq!(direction.ledger.total(), direction.wire_bytes, "ledger of {id}");
        assert!(u64::from(loss.retransmitted) <= direction.data_segments, "retransmissions of {id}: {loss:?}");
        let triggers = loss.by_trigger.iter().fold(0u32, |sum, &count| sum.saturating_add(count));
        assert_eq!(triggers, loss.retransmitted, "triggers of {id}");
        assert!(loss.spurious <= loss.retransmitted, "spurious of {id}: {loss:?}");
        assert!(direction.unique_payload_bytes <= direction.payload_bytes, "payload of {id}");
        assert!(direction.data_packets <= direction.packets && direction.data_packets <= direction.data_segments);
        let spacing = &direction.spacing.durations;
        let samples = [
            direction.round_trips.as_ref().map(|trips| (trips.moments, trips.quantiles_ns.to_vec())),
            spacing.as_ref().map(|spacing| (spacing.moments, spacing.quantiles_ns.to_vec())),
        ];
        for (moments, quantiles_ns) in samples.into_iter().flatten() {
            let ascending = [&[moments.min_ns as f64], quantiles_ns.as_slice(), &[moments.max_ns as f64]].concat();
            assert!(ascending.is_sorted(), "quantiles of {id}: {ascending:?}");
        }
    }
}

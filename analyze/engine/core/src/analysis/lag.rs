//! A direction that was recorded later than the other by a constant: two taps whose clocks differ, or a card that stamps
//! what it receives when it is fetched (docs/methods.md, section 2 rule 4). Connections show it ([`crate::tcp::capture::lag`]);
//! reading once more takes it away.
//!
//! Stands between reading and [`crate::analysis::stage::Intake`]: records of lagging hosts get their true time and their place in it.

use std::collections::BTreeMap;

use crate::decode::frame::{Decoded, decode};
use crate::keyed::KeyedMap;
use crate::read::chunk_source::ChunkSource;
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, Record};
use crate::tcp::capture::lag::{HostAddress, LONGEST_NS, Lag};

/// Records that wait for earlier ones, at most: beyond that they go on as they come.
const MOST_WAITING: usize = 1 << 18;

/// Where a record stands: in order of its time, then of its place in the file. Of one time, what lagged comes first: the fastest
/// answer to it, by which the lag was detected, seems to take no time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LagPlace {
    time_ns: i64,
    punctual: bool,
    order: u64,
}

/// A source whose lagging hosts are put where they belong.
pub struct LaggedSource {
    inner: Box<dyn ChunkSource>,
    lags: KeyedMap<(u16, HostAddress), i64>,
    longest_ns: i64,
    read: Chunk,
    waiting: BTreeMap<LagPlace, (Record, Vec<u8>)>,
    order: u64,
    latest_ns: i64,
    ended: bool,
}

impl LaggedSource {
    /// `inner` without `lags`.
    pub fn new(inner: Box<dyn ChunkSource>, lags: &[Lag]) -> Self {
        let lag_ns = |lag: &Lag| lag.lag_ns.clamp(0, LONGEST_NS);
        Self {
            inner,
            lags: lags.iter().map(|lag| ((lag.input, lag.host), lag_ns(lag))).collect(),
            longest_ns: lags.iter().map(lag_ns).max().unwrap_or(0),
            read: Chunk::default(),
            waiting: BTreeMap::new(),
            order: 0,
            latest_ns: i64::MIN,
            ended: false,
        }
    }

    fn lag_ns(&self, record: &Record) -> i64 {
        let Decoded::Tcp(packet) = decode(&self.read.bytes, record) else { return 0 };
        let host = HostAddress::sender_of(&packet, &self.read.bytes);
        host.and_then(|host| self.lags.get(&(record.input, host)).copied()).unwrap_or(0)
    }

    /// Takes the chunk that was read into what waits.
    fn take_in(&mut self) {
        let records = std::mem::take(&mut self.read.records);
        for record in &records {
            let start = record.offset as usize;
            let frame = self.read.bytes.get(start..start + record.captured_length as usize).unwrap_or(&[]).to_vec();
            let mut record = *record;
            self.latest_ns = self.latest_ns.max(record.time_ns);
            let lag_ns = self.lag_ns(&record);
            record.time_ns = (record.time_ns - lag_ns).max(-Record::FARTHEST_TIME_NS);
            self.keep(record.time_ns, lag_ns == 0, record, frame);
        }
        self.read.records = records;
    }

    fn keep(&mut self, time_ns: i64, punctual: bool, record: Record, frame: Vec<u8>) {
        self.waiting.insert(LagPlace { time_ns, punctual, order: self.order }, (record, frame));
        self.order += 1;
    }

    /// Gives out what nothing that is still to be read can come before.
    fn give_out(&mut self, out: &mut Chunk) {
        let settled_ns = self.latest_ns.saturating_sub(self.longest_ns);
        let mut waiting = self.waiting.len();
        while let Some(first) = self.waiting.first_entry() {
            let is_settled = self.ended || first.key().time_ns <= settled_ns;
            let (record, frame) = if is_settled || waiting > MOST_WAITING { first.remove() } else { break };
            waiting -= 1;
            out.records.push(Record { offset: out.bytes.len() as u32, ..record });
            out.bytes.extend_from_slice(&frame);
        }
    }
}

impl ChunkSource for LaggedSource {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        chunk.clear();
        while chunk.records.is_empty() && !self.ended {
            if self.inner.next_chunk(&mut self.read)? {
                self.take_in();
            } else {
                self.ended = true;
            }
            self.give_out(chunk);
        }
        Ok(!chunk.records.is_empty())
    }

    fn inputs(&self) -> Vec<InputFacts> {
        self.inner.inputs()
    }

    fn key_log_bytes(&self) -> usize {
        self.inner.key_log_bytes()
    }

    fn consumed_bytes(&self) -> u64 {
        self.inner.consumed_bytes()
    }
}

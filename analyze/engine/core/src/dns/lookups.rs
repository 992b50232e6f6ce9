//! Questions joined with their answers, within bounds: what a capture of any length can hold of them.
//!
//! Rule: docs/methods.md, "Name lookups".

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::decode::batch::Batch;
use crate::decode::dns::DnsDatagram;
use crate::decode::numbers::DNS_PORT;
use crate::decode::walk::dns_datagram;
use crate::dns::message::{Message, read_message};
use crate::read::record::Chunk;

/// Lookups kept of a capture, and of one TCP connection.
const MAX_LOOKUPS: usize = 1 << 16;

const MAX_LOOKUPS_OF_CONNECTION: usize = 64;

/// Bytes of names and addresses kept with them.
const MAX_TEXT_BYTES: usize = 16 << 20;

const MAX_TEXT_BYTES_OF_CONNECTION: usize = 16 << 10;

/// Questions that wait for an answer, of either generation.
const MAX_PENDING: usize = 2048;

/// No resolver is waited for longer, so the identifier may be another question's by then.
const MAX_WAIT_NS: i64 = 30_000_000_000;

/// How a message was carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl Transport {
    /// Names in tables, by number.
    pub const NAMES: [&str; 2] = ["udp", "tcp"];
}

/// From whom to whom a message went, and when.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Sender and receiver.
    pub addresses: [IpAddr; 2],
    /// Their ports.
    pub ports: [u16; 2],
    /// When it had passed, Unix nanoseconds.
    pub time_ns: i64,
    /// Number of the input file.
    pub input: u16,
    /// How it was carried.
    pub transport: Transport,
}

/// One answered question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// Number of the input file.
    pub input: u16,
    /// When the question passed (its first copy); none if it was not captured.
    pub asked_ns: Option<i64>,
    /// When the answer passed.
    pub answered_ns: i64,
    /// Who asked.
    pub client: IpAddr,
    /// Who answered.
    pub resolver: IpAddr,
    /// How.
    pub transport: Transport,
    /// The answer.
    pub message: Message,
}

type Key = ([IpAddr; 2], [u16; 2], u16, u16);

/// Lookups in the order of their answers.
#[derive(Debug, Clone)]
pub struct Lookups {
    list: Vec<Lookup>,
    not_kept: u64,
    text_bytes: usize,
    most_lookups: usize,
    most_text_bytes: usize,
    /// Questions asked, the newest generation first: when that is full, the older one is forgotten.
    pending: [BTreeMap<Key, i64>; 2],
}

impl Default for Lookups {
    fn default() -> Self {
        Self::with_room(MAX_LOOKUPS, MAX_TEXT_BYTES)
    }
}

impl Lookups {
    fn with_room(most_lookups: usize, most_text_bytes: usize) -> Self {
        Self {
            list: Vec::new(),
            not_kept: 0,
            text_bytes: 0,
            most_lookups,
            most_text_bytes,
            pending: Default::default(),
        }
    }

    /// Room for what one TCP connection may ask.
    pub(super) fn of_one_connection() -> Self {
        Self::with_room(MAX_LOOKUPS_OF_CONNECTION, MAX_TEXT_BYTES_OF_CONNECTION)
    }

    /// Takes the datagrams of a decoded chunk.
    pub fn chunk(&mut self, chunk: &Chunk, batch: &Batch) {
        for record in batch.dns.iter().filter_map(|&index| chunk.records.get(index as usize)) {
            let Some(DnsDatagram { addresses, ports, message, cut }) = dns_datagram(&chunk.bytes, record) else {
                continue;
            };
            let (time_ns, input) = (record.time_ns, record.input);
            self.message(Exchange { addresses, ports, time_ns, input, transport: Transport::Udp }, message, cut);
        }
    }

    /// Takes a message of either direction, which the snap length may have `cut`; what is none is passed over.
    pub fn message(&mut self, exchange: Exchange, bytes: &[u8], cut: bool) {
        let Some(message) = read_message(bytes, cut) else { return };
        let Exchange { addresses: [from, to], ports: [from_port, to_port], time_ns, input, transport } = exchange;
        if !message.response && to_port == DNS_PORT {
            self.ask(([from, to], [from_port, to_port], message.id, input), time_ns);
        } else if message.response && from_port == DNS_PORT {
            let key = ([to, from], [to_port, from_port], message.id, input);
            let asked_ns = self.pending.iter_mut().find_map(|generation| generation.remove(&key));
            let asked_ns = asked_ns.filter(|asked| waited_for(*asked, time_ns));
            // An answer that the resolver cut comes again, whole, over TCP.
            if !message.truncated || !message.addresses.is_empty() {
                let lookup =
                    Lookup { input, asked_ns, answered_ns: time_ns, client: to, resolver: from, transport, message };
                self.keep(lookup);
            }
        }
    }

    fn ask(&mut self, key: Key, time_ns: i64) {
        // Asked again for want of an answer: the client has waited since the first time.
        let before = self.pending.iter_mut().find_map(|generation| generation.remove(&key));
        let asked_ns = before.filter(|asked| waited_for(*asked, time_ns)).unwrap_or(time_ns);
        let [newest, older] = &mut self.pending;
        if newest.len() >= MAX_PENDING {
            *older = std::mem::take(newest);
        }
        newest.insert(key, asked_ns);
    }

    fn keep(&mut self, lookup: Lookup) {
        let message = &lookup.message;
        let names: usize = message.aliases.iter().map(String::len).sum();
        let bytes =
            message.name.as_ref().map_or(0, String::len) + names + message.addresses.len() * size_of::<IpAddr>();
        if self.list.len() >= self.most_lookups || self.text_bytes + bytes > self.most_text_bytes {
            self.not_kept += 1;
            return;
        }
        self.text_bytes += bytes;
        self.list.push(lookup);
    }

    /// Adds others, and puts all in the order of their answers.
    pub fn merge(&mut self, others: impl IntoIterator<Item = Self>) {
        let before = self.list.len();
        for other in others {
            self.not_kept += other.not_kept;
            other.list.into_iter().for_each(|lookup| self.keep(lookup));
        }
        if self.list.len() > before {
            // Stable: what came at one time stays in the order given.
            self.list.sort_by_key(|lookup| lookup.answered_ns);
        }
    }

    /// Numbers the inputs from `first` on, for lookups of inputs that were analysed apart.
    pub(crate) fn moved(mut self, first: u16) -> Self {
        self.list.iter_mut().for_each(|lookup| lookup.input = lookup.input.saturating_add(first));
        self
    }

    /// In the order of their answers.
    pub fn list(&self) -> &[Lookup] {
        &self.list
    }

    /// Answers beyond what is kept.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }
}

fn waited_for(asked_ns: i64, now_ns: i64) -> bool {
    (0..=MAX_WAIT_NS).contains(&now_ns.saturating_sub(asked_ns))
}

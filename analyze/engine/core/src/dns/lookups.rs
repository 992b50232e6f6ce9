//! Questions joined with their answers, within bounds: what a capture of any length can hold of them.
//!
//! Rule: docs/methods.md, "Name lookups".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::decode::fragments::Beginning;
use crate::decode::icmp::IcmpError;
use crate::decode::numbers::DNS_PORT;
use crate::decode::other::Other;
use crate::dns::message::{Message, read_message};
use crate::keyed::move_places;
use crate::read::record::Record;

/// Lookups kept of a capture, and of one TCP connection.
const MAX_LOOKUPS: usize = 1 << 16;

const MAX_LOOKUPS_OF_CONNECTION: usize = 64;

/// Bytes of names and addresses kept with them.
const MAX_TEXT_BYTES: usize = 16 << 20;

const MAX_TEXT_BYTES_OF_CONNECTION: usize = 16 << 10;

/// Answers to nobody's question that are kept: so many can be made up.
const MAX_UNASKED: usize = 1 << 12;

/// An ICMP error is about one of the last questions.
const MOST_LOOKED_AT: usize = 256;

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
    /// Its frame.
    pub frame: u32,
    /// Number of the input file.
    pub input: u16,
    /// How it was carried.
    pub transport: Transport,
}

/// One question, and the answer if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// Number of the input file.
    pub input: u16,
    /// When the question passed (its first copy); none if it was not captured.
    pub asked_ns: Option<i64>,
    /// When its last copy passed before the answer.
    pub last_asked_ns: i64,
    /// How often it was asked.
    pub tries: u32,
    /// When the answer passed; none without one.
    pub answered_ns: Option<i64>,
    /// Who asked.
    pub client: IpAddr,
    /// From which port.
    pub client_port: u16,
    /// Who answered, or was asked.
    pub resolver: IpAddr,
    /// How.
    pub transport: Transport,
    /// Frames of the first question and of the answer.
    pub frames: [Option<u32>; 2],
    /// An ICMP error came instead: its type and code.
    pub refused: Option<[u8; 2]>,
    /// Answers of which fragments did not come.
    pub fragments_lost: u32,
    /// The answer, or the question.
    pub message: Message,
}

type LookupKey = ([IpAddr; 2], [u16; 2], u16, u16);

/// Lookups in the order of their questions.
#[derive(Debug, Clone)]
pub struct Lookups {
    list: Vec<Lookup>,
    most_lookups: usize,
    most_text_bytes: usize,
    text_bytes: usize,
    /// Places of questions without an answer.
    pending: HashMap<LookupKey, usize>,
    /// What is not in the list.
    pub counts: LookupCounts,
}

/// Messages that are not in the list, or that are there without a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LookupCounts {
    /// Questions beyond those kept.
    pub questions_not_kept: u64,
    /// Answers beyond those kept.
    pub answers_not_kept: u64,
    /// Answers to nobody's question: made up, late, come twice, or asked before the capture.
    pub unasked: u64,
    /// Answers with the numbers of a question, but about something else.
    pub mismatched: u64,
}

impl Default for Lookups {
    fn default() -> Self {
        Self::with_room(MAX_LOOKUPS, MAX_TEXT_BYTES)
    }
}

impl Lookups {
    fn with_room(most_lookups: usize, most_text_bytes: usize) -> Self {
        let (list, pending, counts) = (Vec::new(), HashMap::new(), LookupCounts::default());
        Self { list, most_lookups, most_text_bytes, text_bytes: 0, pending, counts }
    }

    /// Room for what one TCP connection may ask.
    pub(super) fn of_one_connection() -> Self {
        Self::with_room(MAX_LOOKUPS_OF_CONNECTION, MAX_TEXT_BYTES_OF_CONNECTION)
    }

    /// Those that another run has found, in their order.
    pub(crate) fn known(list: Vec<Lookup>, counts: LookupCounts) -> Self {
        Self { list, counts, ..Self::default() }
    }

    /// Takes a datagram, if it is of DNS.
    pub fn datagram(&mut self, bytes: &[u8], record: &Record, other: &Other) {
        let Some(udp) = other.udp(bytes).filter(|udp| udp.ports.contains(&DNS_PORT)) else { return };
        let Some(addresses) = other.addresses(bytes) else { return };
        let Record { time_ns, frame, input, .. } = *record;
        let exchange = Exchange { addresses, ports: udp.ports, time_ns, frame, input, transport: Transport::Udp };
        self.message(exchange, udp.data, udp.is_cut());
    }

    /// Takes a message of either direction, which the snap length may have `cut`; what is none is passed over.
    pub fn message(&mut self, exchange: Exchange, bytes: &[u8], cut: bool) {
        let Some(message) = read_message(bytes, cut) else { return };
        let [from_port, to_port] = exchange.ports;
        if !message.response && to_port == DNS_PORT {
            self.ask(&exchange, message);
        } else if message.response && from_port == DNS_PORT {
            self.answer(&exchange, message);
        }
    }

    fn ask(&mut self, exchange: &Exchange, message: Message) {
        let Exchange { addresses, ports, time_ns, frame, input, transport } = *exchange;
        let key = (addresses, ports, message.id, input);
        if let Some(asked) = self.pending.get(&key).and_then(|&place| self.list.get_mut(place)) {
            let is_same = asked.message.name == message.name && asked.message.kind == message.kind;
            // Asked again for want of an answer: the client has waited since the first time.
            if is_same && waited_for(asked.last_asked_ns, time_ns) {
                asked.tries = asked.tries.saturating_add(1);
                asked.last_asked_ns = time_ns;
                return;
            }
        }
        let lookup = Lookup {
            input,
            asked_ns: Some(time_ns),
            last_asked_ns: time_ns,
            tries: 1,
            answered_ns: None,
            client: addresses[0],
            client_port: ports[0],
            resolver: addresses[1],
            transport,
            frames: [Some(frame), None],
            refused: None,
            fragments_lost: 0,
            message,
        };
        match self.keep(lookup) {
            Some(place) => _ = self.pending.insert(key, place),
            None => self.counts.questions_not_kept += 1,
        }
    }

    fn answer(&mut self, exchange: &Exchange, message: Message) {
        let Exchange { addresses: [from, to], ports: [from_port, to_port], time_ns, frame, input, transport } =
            *exchange;
        let key = ([to, from], [to_port, from_port], message.id, input);
        let place = self.pending.get(&key).copied();
        let asked = place.and_then(|place| self.list.get_mut(place));
        if let Some(asked) = asked.filter(|asked| waited_for(asked.last_asked_ns, time_ns)) {
            let is_other = |ours: bool, theirs: bool, same: bool| ours && theirs && !same;
            let (ours, theirs) = (&asked.message, &message);
            if is_other(ours.name.is_some(), theirs.name.is_some(), ours.name == theirs.name)
                || is_other(ours.kind.is_some(), theirs.kind.is_some(), ours.kind == theirs.kind)
            {
                self.counts.mismatched += 1;
                return;
            }
            let bytes = text_bytes(&message);
            // Without room for what it says, it still is an answer.
            let is_room = self.text_bytes + bytes <= self.most_text_bytes;
            self.text_bytes += if is_room { bytes } else { 0 };
            let rest = Message { aliases: Vec::new(), addresses: Vec::new(), name: ours.name.clone(), ..message };
            self.counts.answers_not_kept += u64::from(!is_room);
            asked.message = if is_room { message } else { rest };
            asked.answered_ns = Some(time_ns);
            asked.frames[1] = Some(frame);
            self.pending.remove(&key);
            return;
        }
        self.counts.unasked += 1;
        if self.counts.unasked as usize > MAX_UNASKED {
            self.counts.answers_not_kept += 1;
            return;
        }
        let lookup = Lookup {
            input,
            asked_ns: None,
            last_asked_ns: time_ns,
            tries: 0,
            answered_ns: Some(time_ns),
            client: to,
            client_port: to_port,
            resolver: from,
            transport,
            frames: [None, Some(frame)],
            refused: None,
            fragments_lost: 0,
            message,
        };
        self.counts.answers_not_kept += u64::from(self.keep(lookup).is_none());
    }

    /// An ICMP error came for what this port of the client asked.
    pub fn refuse(&mut self, error: &IcmpError) {
        let [client, resolver] = error.addresses;
        // The error follows its question closely, if it follows it at all.
        for asked in self.list.iter_mut().rev().take(MOST_LOOKED_AT) {
            let ends = (asked.client, asked.client_port, asked.resolver);
            if ends == (client, error.ports[0], resolver) && asked.answered_ns.is_none() {
                asked.refused.get_or_insert([error.kind, error.code]);
            }
        }
    }

    /// Answers came in part: their first fragments, at the end of all inputs.
    pub fn cut_answers(&mut self, beginnings: &[Beginning]) {
        let mut cut: HashMap<LookupKey, u32> = HashMap::new();
        for Beginning { input, addresses: [from, to], bytes } in beginnings {
            let Some((header, message)) = bytes.split_first_chunk::<8>() else { continue };
            let ports = [u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]])];
            let answer = read_message(message, true).filter(|message| message.response && ports[0] == DNS_PORT);
            let Some(answer) = answer else { continue };
            *cut.entry(([*to, *from], [ports[1], ports[0]], answer.id, *input)).or_default() += 1;
        }
        if cut.is_empty() {
            return;
        }
        for asked in &mut self.list {
            let key = ([asked.client, asked.resolver], [asked.client_port, DNS_PORT], asked.message.id, asked.input);
            asked.fragments_lost += cut.remove(&key).unwrap_or(0);
        }
    }

    fn keep(&mut self, lookup: Lookup) -> Option<usize> {
        let bytes = text_bytes(&lookup.message);
        if self.list.len() >= self.most_lookups || self.text_bytes + bytes > self.most_text_bytes {
            return None;
        }
        self.text_bytes += bytes;
        self.list.push(lookup);
        Some(self.list.len() - 1)
    }

    /// Adds others.
    pub fn merge(&mut self, others: impl IntoIterator<Item = Self>) {
        for other in others {
            let LookupCounts { questions_not_kept, answers_not_kept, unasked, mismatched } = other.counts;
            self.counts.questions_not_kept += questions_not_kept;
            self.counts.answers_not_kept += answers_not_kept;
            self.counts.unasked += unasked;
            self.counts.mismatched += mismatched;
            for lookup in other.list {
                let is_answered = lookup.answered_ns.is_some();
                if self.keep(lookup).is_none() {
                    self.counts.answers_not_kept += u64::from(is_answered);
                    self.counts.questions_not_kept += u64::from(!is_answered);
                }
            }
        }
    }

    /// Forgets those of which nothing passed since `before_ns`.
    pub(crate) fn forget(&mut self, before_ns: i64) {
        let is_kept = |lookup: &Lookup| lookup.answered_ns.max(Some(lookup.last_asked_ns)) >= Some(before_ns);
        let mut next = 0..;
        let places: Vec<_> = self.list.iter().map(|lookup| is_kept(lookup).then(|| next.next()).flatten()).collect();
        move_places(&mut self.pending, &places);
        self.list.retain(is_kept);
        self.text_bytes = self.list.iter().map(|lookup| text_bytes(&lookup.message)).sum();
    }

    /// Numbers the inputs from `first` on, for lookups of inputs that were analysed apart.
    pub(crate) fn moved(mut self, first: u16) -> Self {
        self.list.iter_mut().for_each(|lookup| lookup.input = lookup.input.saturating_add(first));
        self
    }

    /// All of them.
    pub fn all(&self) -> &[Lookup] {
        &self.list
    }

    /// Those with an answer, in the order of their answers. One that the resolver cut comes again, whole, over TCP.
    pub fn answered(&self) -> Vec<&Lookup> {
        let is_whole = |message: &Message| !message.truncated || !message.addresses.is_empty();
        let answered = self.list.iter().filter(|lookup| lookup.answered_ns.is_some() && is_whole(&lookup.message));
        let mut answered: Vec<_> = answered.collect();
        // Stable: what came at one time stays in the order given.
        answered.sort_by_key(|lookup| lookup.answered_ns);
        answered
    }

    /// Answers beyond what is kept.
    pub fn not_kept(&self) -> u64 {
        self.counts.answers_not_kept
    }
}

fn text_bytes(message: &Message) -> usize {
    let names: usize = message.aliases.iter().map(String::len).sum();
    message.name.as_ref().map_or(0, String::len) + names + message.addresses.len() * size_of::<IpAddr>()
}

fn waited_for(asked_ns: i64, now_ns: i64) -> bool {
    (0..=MAX_WAIT_NS).contains(&now_ns.saturating_sub(asked_ns))
}

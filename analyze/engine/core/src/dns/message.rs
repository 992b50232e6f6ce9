//! One DNS message: its question, and the addresses that the answer section gives for it.
//!
//! Only what hangs together is taken: an address counts if its owner is the name asked for or an alias of it in the same
//! section, so that unasked records say nothing. Authority and additional sections (and with them EDNS) are not read.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::dns::name;

/// Records read of one answer section.
const MAX_RECORDS: usize = 256;

/// Addresses and aliases kept of one message.
const MAX_ADDRESSES: usize = 64;

const MAX_ALIASES: usize = 16;

const HEADER_BYTES: usize = 12;
/// Flags of the second header word.
mod flag {
    pub const RESPONSE: u16 = 0x8000;
    pub const OPCODE: u16 = 0x7800;
    pub const TRUNCATED: u16 = 0x0200;
    pub const RESPONSE_CODE: u16 = 0x000f;
}

/// Record types and the class that are read (IANA).
const A: u16 = 1;

const CNAME: u16 = 5;

const AAAA: u16 = 28;

const INTERNET: u16 = 1;

/// What is kept of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Joins an answer with its question.
    pub id: u16,
    /// It answers.
    pub response: bool,
    /// The server cut the answer: it comes again over TCP.
    pub truncated: bool,
    /// 0 is no error, 3 no such name (IANA; without the bits that EDNS adds).
    pub response_code: u8,
    /// Name asked for; none if the snap length cut the message before its end.
    pub name: Option<String>,
    /// Type asked for: 1 A, 28 AAAA, 65 HTTPS.
    pub kind: Option<u16>,
    /// Aliases of the name, in the order followed.
    pub aliases: Vec<String>,
    /// Addresses given for the name or its aliases.
    pub addresses: Vec<IpAddr>,
}

enum Data {
    Alias(String),
    Address(IpAddr),
}

/// Reads a message, or as much of it as was captured (`cut`: that is not all); none if it is no query or response with one
/// question.
pub fn read_message(bytes: &[u8], cut: bool) -> Option<Message> {
    let word = |index: usize| bytes.get(index * 2..)?.first_chunk().map(|pair| u16::from_be_bytes(*pair));
    let (id, flags, questions, answers) = (word(0)?, word(1)?, word(2)?, word(3)?);
    // A multicast or update message may have none or several; they name no connection.
    if flags & flag::OPCODE != 0 || questions != 1 {
        return None;
    }
    let question = name::read(bytes, HEADER_BYTES).and_then(|(name, end)| Some((name, u16_at(bytes, end)?, end + 4)));
    if question.is_none() && !cut {
        return None;
    }
    let response = flags & flag::RESPONSE != 0;
    let mut message = Message {
        id,
        response,
        truncated: flags & flag::TRUNCATED != 0,
        response_code: (flags & flag::RESPONSE_CODE) as u8,
        name: None,
        kind: None,
        aliases: Vec::new(),
        addresses: Vec::new(),
    };
    if let Some((name, kind, end)) = question {
        if response {
            let records = answer_records(bytes, end, usize::from(answers).min(MAX_RECORDS));
            take_answers(&mut message, &name, records);
        }
        (message.name, message.kind) = (Some(name), Some(kind));
    }
    Some(message)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|pair| u16::from_be_bytes(*pair))
}

/// Owner and data of those records that matter, up to the first that is not whole.
fn answer_records(bytes: &[u8], mut at: usize, count: usize) -> Vec<(String, Data)> {
    let mut records = Vec::new();
    for _ in 0..count {
        let Some((owner, data, end)) = record(bytes, at) else { break };
        records.extend(data.map(|data| (owner, data)));
        at = end;
    }
    records
}

/// The record at `at` and where the next begins; its data only if they are of a type that is read.
fn record(bytes: &[u8], at: usize) -> Option<(String, Option<Data>, usize)> {
    let (owner, fixed) = name::read(bytes, at)?;
    let (kind, class, length) = (u16_at(bytes, fixed)?, u16_at(bytes, fixed + 2)?, u16_at(bytes, fixed + 8)?);
    let start = fixed + 10;
    let end = start + usize::from(length);
    let content = bytes.get(start..end)?;
    let data = match kind {
        _ if class != INTERNET => None,
        A => content.try_into().ok().map(|octets: [u8; 4]| Data::Address(Ipv4Addr::from(octets).into())),
        AAAA => content.try_into().ok().map(|octets: [u8; 16]| Data::Address(Ipv6Addr::from(octets).into())),
        CNAME => name::read(bytes, start).filter(|(_, after)| *after == end).map(|(alias, _)| Data::Alias(alias)),
        _ => None,
    };
    Some((owner, data, end))
}

/// Follows aliases from the question on, whatever the order of the records, and takes the addresses of all of them.
fn take_answers(message: &mut Message, asked: &str, records: Vec<(String, Data)>) {
    let mut name = asked.to_owned();
    while message.aliases.len() < MAX_ALIASES {
        let next = records.iter().find_map(|(owner, data)| match data {
            Data::Alias(alias) if *owner == name => Some(alias),
            _ => None,
        });
        let Some(next) = next.filter(|next| *next != asked && !message.aliases.contains(next)) else { break };
        name.clone_from(next);
        message.aliases.push(next.clone());
    }
    for (owner, data) in records {
        let Data::Address(address) = data else { continue };
        let belongs = owner == asked || message.aliases.contains(&owner);
        if belongs && !message.addresses.contains(&address) && message.addresses.len() < MAX_ADDRESSES {
            message.addresses.push(address);
        }
    }
}

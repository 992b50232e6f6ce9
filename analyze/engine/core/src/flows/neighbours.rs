//! Who asked for the link address of whom, and whether it was given: ARP (RFC 826) and neighbour discovery (RFC 4861).

use std::collections::HashMap;
use std::net::IpAddr;

use crate::decode::numbers::{ether_type, protocol};
use crate::decode::other::{Other, OtherKind};
use crate::read::record::Record;

/// Pairs of who asks and who is asked for that are kept: scans ask for whole networks.
const MOST_PAIRS: usize = 1 << 14;

/// Of one address: senders can be made up.
const MOST_ASKERS: usize = 64;

/// See [`Neighbours`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Whose link address is asked for.
    pub address: IpAddr,
    /// Who asks.
    pub asked_by: IpAddr,
    /// Requests.
    pub requests: u64,
    /// Replies, to whomever asked.
    pub replies: u64,
    /// When the first and the last request passed.
    pub asked_ns: [i64; 2],
    /// Frame of the first request.
    pub first_frame: u32,
    /// Requests since the last reply.
    pub unanswered: u64,
}

/// All of a capture.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    list: Vec<Neighbour>,
    /// Places by who is asked for.
    by_address: HashMap<IpAddr, Vec<u32>>,
    not_kept: u64,
}

enum Said {
    Asks { address: IpAddr, by: IpAddr },
    Is(IpAddr),
}

impl Neighbours {
    /// Takes a frame, if it is a request or a reply.
    pub fn take(&mut self, bytes: &[u8], record: &Record, other: &Other) {
        let said = match other.kind {
            OtherKind::EtherType(ether_type::ARP) => arp(other.payload(bytes)),
            OtherKind::Ip(protocol::ICMP_V6) => discovery(other, bytes),
            _ => None,
        };
        match said {
            Some(Said::Asks { address, by }) => self.ask(address, by, record),
            Some(Said::Is(address)) => {
                for &place in self.by_address.get(&address).into_iter().flatten() {
                    if let Some(neighbour) = self.list.get_mut(place as usize) {
                        neighbour.replies += 1;
                        neighbour.unanswered = 0;
                    }
                }
            }
            None => {}
        }
    }

    fn ask(&mut self, address: IpAddr, by: IpAddr, record: &Record) {
        let Self { list, by_address, .. } = self;
        let known = by_address.get(&address).into_iter().flatten().copied();
        let place = known.into_iter().find(|&place| list.get(place as usize).is_some_and(|one| one.asked_by == by));
        if let Some(one) = place.and_then(|place| list.get_mut(place as usize)) {
            one.requests += 1;
            one.unanswered += 1;
            one.asked_ns[1] = record.time_ns;
        } else if list.len() < MOST_PAIRS && by_address.get(&address).is_none_or(|known| known.len() < MOST_ASKERS) {
            by_address.entry(address).or_default().push(list.len() as u32);
            let (asked_ns, first_frame) = ([record.time_ns; 2], record.frame);
            let (requests, replies, unanswered) = (1, 0, 1);
            list.push(Neighbour { address, asked_by: by, requests, replies, asked_ns, first_frame, unanswered });
        } else {
            self.not_kept += 1;
        }
    }

    /// In the order of the first requests.
    pub fn list(&self) -> &[Neighbour] {
        &self.list
    }

    /// Requests beyond those kept.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// Adds those of inputs that were analysed apart.
    pub fn append(&mut self, next: Self) {
        self.not_kept += next.not_kept;
        self.list.extend(next.list);
    }
}

/// Request or reply of ARP about IPv4. What announces itself asks for nobody.
fn arp(message: &[u8]) -> Option<Said> {
    let &[_, _, 8, 0, hardware_bytes, 4, 0, operation] = message.first_chunk()? else { return None };
    let address_at = |at: usize| Some(IpAddr::from(*message.get(at..)?.first_chunk::<4>()?));
    let sender_at = 8 + usize::from(hardware_bytes);
    let by = address_at(sender_at)?;
    let address = address_at(sender_at + 4 + usize::from(hardware_bytes))?;
    match operation {
        1 if address != by => Some(Said::Asks { address, by }),
        1 | 2 => Some(Said::Is(by)),
        _ => None,
    }
}

/// Neighbour solicitation or advertisement. One that looks for a duplicate of itself has no source.
fn discovery(other: &Other, bytes: &[u8]) -> Option<Said> {
    let message = other.payload(bytes);
    let kind = *message.first()?;
    let address = || Some(IpAddr::from(*message.get(8..)?.first_chunk::<16>()?));
    let [by, _] = other.addresses(bytes)?;
    match kind {
        135 if !by.is_unspecified() => address().map(|address| Said::Asks { address, by }),
        136 => address().map(Said::Is),
        _ => None,
    }
}

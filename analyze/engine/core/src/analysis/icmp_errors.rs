//! ICMP errors on their way to the connections that they quote: gathered in file order, joined when all connections are known.
//!
//! Rule: docs/outcome.md, "ICMP errors".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::echoes::Echoes;
use crate::analysis::results::{IcmpFate, Summaries};
use crate::decode::icmp::IcmpError;
use crate::tcp::summary::summary::ConnectionSummary;

/// Errors that are kept of a capture.
const MOST_ERRORS: usize = 1 << 16;

/// Of errors whose addresses are no connection's, so many are tried by their numbers for one server.
const MOST_TRANSLATED: usize = 64;

/// An error comes no later than this after the last packet of its connection.
const LATEST_NS: i64 = 130_000_000_000;

/// The same where connections are analysed apart: which of them belong to none is not known yet.
const MOST_TRANSLATED_APART: usize = 1024;

/// See the module.
#[derive(Debug, Default)]
pub struct Gathered {
    list: Vec<IcmpError>,
    /// Where connections are analysed apart: the errors whose addresses were translated and that belong to one of these.
    translated: Option<Vec<u32>>,
    /// Echoes, which are about no connection.
    pub echoes: Echoes,
}

type Endpoint = (IpAddr, u16);

impl Gathered {
    /// Takes the next error about a TCP segment.
    pub fn add(&mut self, error: IcmpError) {
        if self.list.len() < MOST_ERRORS {
            self.list.push(error);
        }
    }

    /// Errors that were gathered before, for a part of all connections. Of those whose addresses were translated the ones with
    /// these places in the list belong to it.
    pub fn apart(list: Vec<IcmpError>, translated: Vec<u32>) -> Self {
        Self { list, translated: Some(translated), echoes: Echoes::default() }
    }

    /// All errors, in their order.
    pub fn errors(&self) -> &[IcmpError] {
        &self.list
    }

    /// Gives each to the connection that it quotes: of several with these addresses and ports, the last that had begun. Where
    /// these are a part of all connections, what is known of each error is returned.
    pub fn join(self, connections: &mut Summaries) -> Vec<IcmpFate> {
        if self.list.is_empty() {
            return Vec::new();
        }
        let mut owners = vec![None; self.list.len()];
        self.join_by_addresses(connections, &mut owners);
        let mut fates: Vec<IcmpFate> =
            owners.iter().map(|owner| IcmpFate { is_owned: owner.is_some(), candidates: 0 }).collect();
        if owners.iter().any(Option::is_none) {
            let (found, candidates) = self.translated_owners(connections, &owners);
            fates.iter_mut().zip(found).for_each(|(fate, found)| fate.candidates = found);
            self.take_translated(&mut owners, &fates, &candidates);
        }
        if self.translated.is_none() {
            self.relate(connections, &owners);
        }
        for (&error, owner) in self.list.iter().zip(owners) {
            if let Some(connection) = owner.and_then(|index: usize| connections.get_mut(index)) {
                connection.details.get_or_insert_default().icmp_errors.get_or_insert_default().add(error);
            }
        }
        if self.translated.is_some() { fates } else { Vec::new() }
    }

    /// One process gives an error to the only connection that fits it; whoever knows all parts says where that one is.
    fn take_translated(&self, owners: &mut [Option<usize>], fates: &[IcmpFate], candidates: &[Option<usize>]) {
        for (number, (owner, candidate)) in (0..).zip(owners.iter_mut().zip(candidates)) {
            let is_only = fates.get(number as usize).is_some_and(|fate| fate.candidates == 1);
            let is_given = self.translated.as_ref().is_none_or(|given| given.contains(&number));
            *owner = owner.or(candidate.filter(|_| is_only && is_given));
        }
    }

    /// Errors that reached the sender of a packet but quote it with other addresses: a translator left the quote as it was. The
    /// receiver of the error and the sequence number show which connection it is.
    fn relate(&self, connections: &mut Summaries, owners: &[Option<usize>]) {
        let mut by_receiver: HashMap<IpAddr, Vec<usize>> = HashMap::new();
        for (number, error) in self.list.iter().enumerate().filter(|(number, _)| owners[*number].is_none()) {
            let numbers = by_receiver.entry(error.to).or_default();
            if numbers.len() < MOST_TRANSLATED {
                numbers.push(number);
            }
        }
        let mut found: Vec<Vec<usize>> = vec![Vec::new(); self.list.len()];
        for (index, connection) in connections.iter().enumerate() {
            for side in [0, 1] {
                for &number in by_receiver.get(&connection.address(side)).into_iter().flatten() {
                    let error = &self.list[number];
                    // Of two that fit none is it.
                    if found[number].len() < 2 && passed_during(error, connection) && sent_by(connection, side, error) {
                        found[number].push(index);
                    }
                }
            }
        }
        for (&error, found) in self.list.iter().zip(found) {
            if let [index] = found[..]
                && let Some(connection) = connections.get_mut(index)
            {
                connection.details.get_or_insert_default().icmp_related.get_or_insert_default().add(error);
            }
        }
    }

    fn join_by_addresses(&self, connections: &Summaries, owners: &mut [Option<usize>]) {
        let mut by_ends: HashMap<[Endpoint; 2], Vec<usize>> = HashMap::new();
        for (number, error) in self.list.iter().enumerate() {
            by_ends.entry(ends_of(error)).or_default().push(number);
        }
        for (index, connection) in connections.iter().enumerate() {
            let [client, server] = [0, 1].map(|side| endpoint(connection, side));
            for ends in [[client, server], [server, client]] {
                for &number in by_ends.get(&ends).into_iter().flatten() {
                    if passed_during(&self.list[number], connection) {
                        owners[number] = Some(index);
                    }
                }
            }
        }
    }

    /// A device that translates the client's address may leave the quote as it was on its other side: then the server and the
    /// sequence number show which connection it is.
    ///
    /// For each error the number of connections that fit it, and one of them.
    fn translated_owners(&self, connections: &Summaries, owners: &[Option<usize>]) -> (Vec<u32>, Vec<Option<usize>>) {
        let most = if self.translated.is_some() { MOST_TRANSLATED_APART } else { MOST_TRANSLATED };
        let mut by_server: HashMap<Endpoint, Vec<usize>> = HashMap::new();
        for (number, error) in self.list.iter().enumerate().filter(|(number, _)| owners[*number].is_none()) {
            let numbers = by_server.entry(ends_of(error)[1]).or_default();
            if numbers.len() < most {
                numbers.push(number);
            }
        }
        let mut found = vec![0u32; self.list.len()];
        let mut candidates = vec![None; self.list.len()];
        for (index, connection) in connections.iter().enumerate() {
            for &number in by_server.get(&endpoint(connection, 1)).into_iter().flatten() {
                let error = &self.list[number];
                if passed_during(error, connection) && sent(connection, error) {
                    found[number] += 1;
                    candidates[number] = Some(index);
                }
            }
        }
        (found, candidates)
    }
}

fn ends_of(error: &IcmpError) -> [Endpoint; 2] {
    [(error.addresses[0], error.ports[0]), (error.addresses[1], error.ports[1])]
}

fn endpoint(connection: &ConnectionSummary, side: usize) -> Endpoint {
    (connection.address(side), connection.ports[side])
}

fn passed_during(error: &IcmpError, connection: &ConnectionSummary) -> bool {
    connection.start_ns <= error.time_ns && error.time_ns <= connection.end_ns.saturating_add(LATEST_NS)
}

/// The quoted number is one of the client's.
fn sent(connection: &ConnectionSummary, error: &IcmpError) -> bool {
    sent_by(connection, 0, error)
}

/// The quoted number is one of this side's.
fn sent_by(connection: &ConnectionSummary, side: usize, error: &IcmpError) -> bool {
    let sent_bytes = connection.directions[side].unique_payload_bytes.saturating_add(2);
    let first = [connection.client_isn, connection.server_isn][side];
    let ahead = |sequence: u32| u64::from(sequence.wrapping_sub(first));
    connection.openings_seen[side] && error.sequence.is_some_and(|sequence| ahead(sequence) <= sent_bytes)
}

//! ICMP errors on their way to the connections that they quote: gathered in file order, joined when all connections are known.
//!
//! Rule: docs/outcome.md, "ICMP errors".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::analysis::echoes::Echoes;
use crate::analysis::results::{IcmpFate, Summaries};
use crate::decode::batch::Batch;
use crate::decode::icmp::IcmpError;
use crate::decode::walk::{Icmp, icmp_message};
use crate::read::record::Chunk;
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
    /// Takes those of a decoded chunk.
    pub fn chunk(&mut self, chunk: &Chunk, batch: &Batch) {
        let records = batch.icmp.iter().filter_map(|&index| chunk.records.get(index as usize));
        for message in records.filter_map(|record| icmp_message(&chunk.bytes, record)) {
            match message {
                Icmp::Error(error) if self.list.len() < MOST_ERRORS => self.list.push(error),
                Icmp::Error(_) => {}
                Icmp::Echo(echo) => self.echoes.add(echo),
            }
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
        for (&error, owner) in self.list.iter().zip(owners) {
            if let Some(connection) = owner.and_then(|index: usize| connections.get_mut(index)) {
                connection.icmp_errors.get_or_insert_default().add(error);
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
    let client = &connection.directions[0];
    let sent_bytes = client.unique_payload_bytes.saturating_add(2);
    let ahead = |sequence: u32| u64::from(sequence.wrapping_sub(connection.client_isn));
    connection.openings_seen[0] && error.sequence.is_some_and(|sequence| ahead(sequence) <= sent_bytes)
}

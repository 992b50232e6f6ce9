//! ICMP errors on their way to the connections that they quote: gathered in file order, joined when all connections are known.
//!
//! Rule: docs/verdict.md, "ICMP errors".

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use crate::analysis::echoes::Echoes;
use crate::analysis::results::{IcmpFate, IcmpGiven, Summaries};
use crate::decode::icmp::IcmpError;
use crate::tcp::summary::summary::ConnectionSummary;

/// Errors that are kept of a capture.
const MOST_ERRORS: usize = 1 << 16;

/// Of errors whose addresses are no connection's, so many are tried by their numbers for one server, or for one receiver of errors.
const MOST_TRANSLATED: usize = 64;

/// An error comes no later than this after the last packet of its connection.
const LATEST_NS: i64 = 130_000_000_000;

/// The same where connections are analysed apart: which of them belong to none is not known yet.
const MOST_TRANSLATED_APART: usize = 1024;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    list: Vec<IcmpError>,
    /// Where connections are analysed apart: the errors that belong to one of these, though they quote other addresses.
    apart: Option<IcmpGiven>,
    /// Echoes, which are about no connection.
    pub echoes: Echoes,
}

type Endpoint = (IpAddr, u16);

/// For each error the number of connections that fit it, and one of them.
struct Fitting {
    counts: Vec<u32>,
    candidates: Vec<Option<usize>>,
}

impl Fitting {
    /// One process gives an error to the only connection that fits it; whoever knows all parts says where that one is.
    fn only<'a>(&'a self, given: Option<&'a Vec<u32>>) -> impl Iterator<Item = Option<usize>> + 'a {
        let found = (0..).zip(self.counts.iter().zip(&self.candidates));
        found.map(move |(number, (count, candidate))| {
            candidate.filter(|_| *count == 1 && given.is_none_or(|given| given.contains(&number)))
        })
    }
}

impl Gathered {
    /// Takes the next error about a TCP segment.
    pub fn add(&mut self, error: IcmpError) {
        if self.list.len() < MOST_ERRORS {
            self.list.push(error);
        }
    }

    /// Forgets what passed before `before_ns`.
    pub(crate) fn forget(&mut self, before_ns: i64) {
        self.list.retain(|error| error.time_ns >= before_ns);
        self.echoes.forget(before_ns);
    }

    /// Errors that were gathered before, for a part of all connections, and which of them belong to it.
    pub fn apart(list: Vec<IcmpError>, given: IcmpGiven) -> Self {
        Self { list, apart: Some(given), echoes: Echoes::default() }
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
            owners.iter().map(|owner| IcmpFate { is_owned: owner.is_some(), ..IcmpFate::default() }).collect();
        let mut related = vec![None; self.list.len()];
        if owners.iter().any(Option::is_none) {
            let given = self.apart.as_ref();
            let found = self.translated(connections, &owners);
            owners.iter_mut().zip(found.only(given.map(|given| &given.translated))).for_each(|(owner, only)| {
                *owner = owner.or(only);
            });
            let near = self.related(connections, &owners);
            related = near.only(given.map(|given| &given.related)).collect();
            for (fate, (candidates, related)) in fates.iter_mut().zip(found.counts.iter().zip(&near.counts)) {
                (fate.candidates, fate.related) = (*candidates, *related);
            }
        }
        for (&error, index) in self.list.iter().zip(related) {
            if let Some(connection) = index.and_then(|index: usize| connections.get_mut(index)) {
                connection.details.get_or_insert_default().icmp_related.get_or_insert_default().add(error);
            }
        }
        for (&error, owner) in self.list.iter().zip(owners) {
            if let Some(connection) = owner.and_then(|index: usize| connections.get_mut(index)) {
                connection.details.get_or_insert_default().icmp_errors.get_or_insert_default().add(error);
            }
        }
        if self.apart.is_some() { fates } else { Vec::new() }
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
    fn translated(&self, connections: &Summaries, owners: &[Option<usize>]) -> Fitting {
        self.fitting(
            connections,
            owners,
            |error| ends_of(error)[1],
            |connection, side| endpoint(connection, 1 - side),
            &[0],
        )
    }

    /// Errors that reached the sender of a packet but quote it with other addresses: a translator left the quote as it was. The
    /// receiver of the error and the sequence number show which connection it is.
    fn related(&self, connections: &Summaries, owners: &[Option<usize>]) -> Fitting {
        self.fitting(connections, owners, |error| error.to, ConnectionSummary::address, &[0, 1])
    }

    /// Of errors that no connection owns: which connections have their key at one of these senders, and have sent what they quote.
    fn fitting<K: Eq + Hash>(
        &self,
        connections: &Summaries,
        owners: &[Option<usize>],
        key_of: impl Fn(&IcmpError) -> K,
        key_at: impl Fn(&ConnectionSummary, usize) -> K,
        senders: &[usize],
    ) -> Fitting {
        let most = if self.apart.is_some() { MOST_TRANSLATED_APART } else { MOST_TRANSLATED };
        let mut by_key: HashMap<K, Vec<usize>> = HashMap::new();
        for (number, error) in self.list.iter().enumerate().filter(|(number, _)| owners[*number].is_none()) {
            let numbers = by_key.entry(key_of(error)).or_default();
            if numbers.len() < most {
                numbers.push(number);
            }
        }
        let (mut counts, mut candidates) = (vec![0u32; self.list.len()], vec![None; self.list.len()]);
        for (index, connection) in connections.iter().enumerate() {
            for &side in senders {
                for &number in by_key.get(&key_at(connection, side)).into_iter().flatten() {
                    let error = &self.list[number];
                    if passed_during(error, connection) && sent_by(connection, side, error) {
                        counts[number] += 1;
                        candidates[number] = Some(index);
                    }
                }
            }
        }
        Fitting { counts, candidates }
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

/// The quoted number is one of this side's.
fn sent_by(connection: &ConnectionSummary, side: usize, error: &IcmpError) -> bool {
    let sent_bytes = connection.directions[side].unique_payload_bytes.saturating_add(2);
    let first = [connection.client_isn, connection.server_isn][side];
    let ahead = |sequence: u32| u64::from(sequence.wrapping_sub(first));
    connection.openings_seen[side] && error.sequence.is_some_and(|sequence| ahead(sequence) <= sent_bytes)
}

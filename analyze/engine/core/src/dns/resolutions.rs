//! What a program waited for: one name, with its address types, its tries, and the search suffixes that came before.
//!
//! Rule: docs/methods.md, "Waiting for names".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::dns::lookups::{Lookup, Transport};

/// A query of a type that was asked already is a retry if it comes so long after, and another program's if it comes sooner.
const SOONEST_RETRY_NS: i64 = 300_000_000;

/// The next type, or the next suffix, is asked for so soon after the last answer.
const NEXT_NS: i64 = 50_000_000;

/// Nobody goes on asking after so long.
const LONGEST_PAUSE_NS: i64 = 15_000_000_000;

/// A connection that follows an answer later was not waiting for it.
const LATEST_CONNECTION_NS: i64 = 10_000_000_000;

/// What a program does between an answer and its connection, at most.
const AT_ONCE_NS: i64 = 50_000_000;

/// Of connections that followed so many are named.
const MOST_CONNECTIONS: usize = 20;

/// No such name (RFC 1035 section 4.1.1).
const NO_SUCH_NAME: u8 = 3;

/// Types of addresses (RFC 1035, RFC 3596).
const ADDRESS_TYPES: [u16; 2] = [1, 28];

/// See the module.
#[derive(Debug, Clone)]
pub struct Resolution {
    /// The name, of the last suffix tried.
    pub name: String,
    /// Types asked for, in order.
    pub kinds: Vec<u16>,
    /// How the answer that was used came; the question without one.
    pub transport: Transport,
    /// Who asked.
    pub client: IpAddr,
    /// Who answered; who was asked last, without an answer.
    pub resolver: IpAddr,
    /// When the first query passed.
    pub asked_ns: i64,
    /// When the last query passed.
    pub last_asked_ns: i64,
    /// When the answer that was used passed.
    pub answered_ns: Option<i64>,
    /// From the query that was answered to that.
    pub response_ns: Option<i64>,
    /// From the first query to the answer that was used, or to the connection that could not wait longer.
    pub waited_ns: Option<i64>,
    /// Queries of the type asked for most often.
    pub tries: u32,
    /// Queries in all.
    pub queries: u32,
    /// Of them without a response.
    pub unanswered: u32,
    /// Code of the answer that was used.
    pub rcode: Option<u8>,
    /// A response was cut, and came again over TCP.
    pub truncated: bool,
    /// ICMP came instead of an answer: its type and code.
    pub refused: Option<[u8; 2]>,
    /// Responses of which fragments did not come.
    pub fragments_lost: u32,
    /// Addresses.
    pub answers: Vec<IpAddr>,
    /// Suffixes that were tried before in vain.
    pub searched: Vec<String>,
    /// How long that took.
    pub searched_ns: i64,
    /// Connections that followed, the first of them.
    pub connections: Vec<u32>,
    /// Connections that followed.
    pub connections_count: u32,
    /// First query, and answer that was used.
    pub frames: Vec<u32>,
    /// When the answers came, by type: none yet.
    parts: Vec<TypeResolved>,
    starts_ns: Option<i64>,
}

/// One type of a resolution.
#[derive(Debug, Clone)]
struct TypeResolved {
    kind: u16,
    last_asked_ns: i64,
    tries: u32,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy)]
struct Answer {
    time_ns: i64,
    response_ns: i64,
    rcode: u8,
    has_addresses: bool,
    resolver: IpAddr,
    transport: Transport,
    frame: Option<u32>,
}

/// A connection that may have followed.
#[derive(Debug, Clone, Copy)]
pub struct Follower {
    /// Its number.
    pub id: u32,
    /// Client and server.
    pub addresses: [IpAddr; 2],
    /// When its first packet passed.
    pub start_ns: i64,
}

impl Resolution {
    fn of(lookup: &Lookup, asked_ns: i64) -> Self {
        Self {
            name: lookup.message.name.clone().unwrap_or_default(),
            kinds: Vec::new(),
            transport: lookup.transport,
            client: lookup.client,
            resolver: lookup.resolver,
            asked_ns,
            last_asked_ns: asked_ns,
            answered_ns: None,
            response_ns: None,
            waited_ns: None,
            tries: 0,
            queries: 0,
            unanswered: 0,
            rcode: None,
            truncated: false,
            refused: None,
            fragments_lost: 0,
            answers: Vec::new(),
            searched: Vec::new(),
            searched_ns: 0,
            connections: Vec::new(),
            connections_count: 0,
            frames: Vec::new(),
            parts: Vec::new(),
            starts_ns: None,
        }
    }

    /// The query belongs to it.
    fn continues_with(&self, kind: u16, asked_ns: i64) -> bool {
        let is_open = self.parts.iter().any(|part| part.answer.is_none_or(|answer| answer.time_ns > asked_ns));
        let answered_ns = self.parts.iter().filter_map(|part| part.answer).map(|answer| answer.time_ns).max();
        if asked_ns.saturating_sub(self.last_asked_ns) > LONGEST_PAUSE_NS {
            return false;
        }
        match self.parts.iter().find(|part| part.kind == kind) {
            Some(part) => {
                // What was cut is asked for over TCP at once.
                is_open && (self.truncated || asked_ns.saturating_sub(part.last_asked_ns) >= SOONEST_RETRY_NS)
            }
            None => is_open || answered_ns.is_some_and(|last_ns| asked_ns.saturating_sub(last_ns) <= NEXT_NS),
        }
    }

    fn add(&mut self, lookup: &Lookup) {
        let kind = lookup.message.kind.unwrap_or(0);
        let is_answer = !lookup.message.truncated || !lookup.message.addresses.is_empty();
        let answer = lookup.answered_ns.filter(|_| is_answer).map(|time_ns| Answer {
            time_ns,
            response_ns: time_ns.saturating_sub(lookup.last_asked_ns),
            rcode: lookup.message.response_code,
            has_addresses: !lookup.message.addresses.is_empty(),
            resolver: lookup.resolver,
            transport: lookup.transport,
            frame: lookup.frames[1],
        });
        self.queries += lookup.tries;
        self.unanswered += lookup.tries - u32::from(lookup.answered_ns.is_some()).min(lookup.tries);
        self.truncated |= lookup.message.truncated;
        self.refused = self.refused.or(lookup.refused);
        self.fragments_lost += lookup.fragments_lost;
        self.resolver = lookup.resolver;
        self.last_asked_ns = self.last_asked_ns.max(lookup.last_asked_ns);
        if self.frames.is_empty() {
            self.frames.extend(lookup.frames[0]);
        }
        for address in &lookup.message.addresses {
            if !self.answers.contains(address) {
                self.answers.push(*address);
            }
        }
        match self.parts.iter_mut().find(|part| part.kind == kind) {
            Some(part) => {
                part.tries += lookup.tries;
                part.last_asked_ns = lookup.last_asked_ns;
                part.answer = answer.or(part.answer);
            }
            None => {
                self.kinds.push(kind);
                self.parts.push(TypeResolved {
                    kind,
                    last_asked_ns: lookup.last_asked_ns,
                    tries: lookup.tries,
                    answer,
                });
            }
        }
        self.tries = self.parts.iter().map(|part| part.tries).max().unwrap_or(0);
    }

    /// All types have an answer, and none of them says what was asked for.
    fn ended_in_vain_ns(&self) -> Option<i64> {
        let is_vain = |answer: &Answer| answer.rcode == NO_SUCH_NAME || answer.rcode == 0 && !answer.has_addresses;
        let of_addresses = self.kinds.iter().all(|kind| ADDRESS_TYPES.contains(kind));
        let answers = self.parts.iter().map(|part| part.answer.filter(is_vain).map(|answer| answer.time_ns));
        answers.collect::<Option<Vec<_>>>().filter(|_| of_addresses)?.into_iter().max()
    }

    /// Takes over what was searched for in vain before.
    fn search_from(&mut self, before: Self) {
        let common = common_labels(&before.name, &self.name);
        let suffix = |name: &str| name.get(common.len()..).unwrap_or_default().trim_start_matches('.').to_owned();
        self.searched = before.searched;
        self.searched.push(suffix(&before.name));
        self.searched_ns = self.asked_ns.saturating_sub(before.asked_ns);
        self.asked_ns = before.asked_ns;
        self.queries += before.queries;
        self.unanswered += before.unanswered;
        self.fragments_lost += before.fragments_lost;
        if let Some(&first) = before.frames.first() {
            self.frames.insert(0, first);
            self.frames.truncate(1);
        }
    }

    /// Which answer was used, now that it is known what followed.
    fn settle(&mut self) {
        let answers = || self.parts.iter().filter_map(|part| part.answer);
        let before_start = |answer: &Answer| self.starts_ns.is_none_or(|start_ns| answer.time_ns <= start_ns);
        let used = answers().filter(before_start).max_by_key(|answer| answer.time_ns);
        let Some(used) = used.or_else(|| answers().max_by_key(|answer| answer.time_ns)) else { return };
        // What says something counts before what says nothing.
        let code = answers().filter(|answer| answer.has_addresses).map(|answer| answer.rcode).next();
        self.rcode = Some(code.unwrap_or(used.rcode));
        self.answered_ns = Some(used.time_ns);
        self.response_ns = Some(used.response_ns);
        self.resolver = used.resolver;
        self.transport = used.transport;
        self.frames.extend(used.frame);
        let is_whole = self.parts.iter().all(|part| part.answer.is_some());
        let ends_ns = match self.starts_ns {
            Some(start_ns) if !is_whole && start_ns.saturating_sub(used.time_ns) > AT_ONCE_NS => Some(start_ns),
            None if !is_whole => None,
            _ => Some(used.time_ns),
        };
        self.waited_ns = ends_ns.map(|ends_ns| ends_ns.saturating_sub(self.asked_ns));
    }

    /// No type has an answer.
    pub fn is_unanswered(&self) -> bool {
        self.parts.iter().all(|part| part.answer.is_none())
    }
}

/// The labels with which both names begin.
fn common_labels<'a>(one: &'a str, other: &str) -> &'a str {
    let pairs = one.split('.').zip(other.split('.'));
    let bytes: usize = pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len() + 1).sum();
    one.get(..bytes.saturating_sub(1)).unwrap_or(one)
}

/// What was waited for in a capture.
#[derive(Debug, Default)]
pub struct Resolutions {
    /// In the order of the first queries.
    pub list: Vec<Resolution>,
    /// Of connections that followed the number, and the place of the resolution in the list; by number.
    pub of_connections: Vec<(u32, u32)>,
}

impl Resolutions {
    /// Adds those of inputs that were analysed apart, behind so many connections.
    pub fn append(&mut self, next: Self, connections: u32) {
        let places = self.list.len() as u32;
        let moved = |(id, place): (u32, u32)| (id.saturating_add(connections), place.saturating_add(places));
        self.of_connections.extend(next.of_connections.into_iter().map(moved));
        self.list.extend(next.list.into_iter().map(|mut one| {
            one.connections.iter_mut().for_each(|id| *id = id.saturating_add(connections));
            one
        }));
    }
}

/// Puts queries together to what was waited for, and joins the connections that followed.
pub fn resolutions(lookups: &[Lookup], followers: impl Iterator<Item = Follower>) -> Resolutions {
    let mut asked: Vec<(i64, &Lookup)> = lookups.iter().filter_map(|one| Some((one.asked_ns?, one))).collect();
    asked.sort_by_key(|(asked_ns, _)| *asked_ns);
    let mut list: Vec<Resolution> = Vec::new();
    let mut open: HashMap<(IpAddr, &str), usize> = HashMap::new();
    for (asked_ns, lookup) in asked {
        let key = (lookup.client, lookup.message.name.as_deref().unwrap_or_default());
        let kind = lookup.message.kind.unwrap_or(0);
        let known = open.get(&key).copied().filter(|&place| list[place].continues_with(kind, asked_ns));
        let place = known.unwrap_or_else(|| {
            list.push(Resolution::of(lookup, asked_ns));
            open.insert(key, list.len() - 1);
            list.len() - 1
        });
        list[place].add(lookup);
    }
    let mut list = search_lists(list);
    let of_connections = follow(&mut list, followers);
    list.iter_mut().for_each(Resolution::settle);
    Resolutions { list, of_connections }
}

/// Names that differ in their suffix, one after the other, are one search.
fn search_lists(list: Vec<Resolution>) -> Vec<Resolution> {
    let mut searched: Vec<Option<Resolution>> = Vec::with_capacity(list.len());
    let mut vain: HashMap<(IpAddr, String), (usize, i64)> = HashMap::new();
    for mut next in list {
        let first_label = next.name.split('.').next().unwrap_or_default().to_owned();
        let key = (next.client, first_label);
        if let Some((place, ended_ns)) = vain.remove(&key)
            && (0..=NEXT_NS).contains(&next.asked_ns.saturating_sub(ended_ns))
            && searched[place].as_ref().is_some_and(|before| before.name != next.name)
            && let Some(before) = searched[place].take()
        {
            next.search_from(before);
        }
        if let Some(ended_ns) = next.ended_in_vain_ns() {
            vain.insert(key, (searched.len(), ended_ns));
        }
        searched.push(Some(next));
    }
    searched.into_iter().flatten().collect()
}

/// Each connection to the last lookup before it that gave its server's address to its client.
fn follow(list: &mut [Resolution], followers: impl Iterator<Item = Follower>) -> Vec<(u32, u32)> {
    let mut of_connections = Vec::new();
    let mut by_answer: HashMap<IpAddr, Vec<(i64, usize)>> = HashMap::new();
    for (place, one) in list.iter().enumerate() {
        let answered_ns = one.parts.iter().filter_map(|part| part.answer).filter(|answer| answer.has_addresses);
        let Some(first_ns) = answered_ns.map(|answer| answer.time_ns).min() else { continue };
        for answer in &one.answers {
            by_answer.entry(*answer).or_default().push((first_ns, place));
        }
    }
    by_answer.values_mut().for_each(|places| places.sort_unstable());
    for Follower { id, addresses: [client, server], start_ns } in followers {
        let Some(places) = by_answer.get(&server) else { continue };
        let before = places.partition_point(|(first_ns, _)| *first_ns <= start_ns);
        // A stub on the host itself asks for all of it, and names are asked for over either version of IP.
        let is_of = |one: &Resolution| {
            one.client == client || one.client.is_loopback() || one.client.is_ipv4() != client.is_ipv4()
        };
        let candidates = places.get(..before).unwrap_or_default().iter().rev().take(MOST_CONNECTIONS);
        let found = candidates.map(|&(_, place)| place).find(|&place| is_of(&list[place]));
        let Some((place, one)) = found.and_then(|place| Some((place, list.get_mut(place)?))) else { continue };
        // A late answer of the other type ends the wait, too.
        let answers = one.parts.iter().filter_map(|part| part.answer).map(|answer| answer.time_ns);
        let last_ns = answers.filter(|time_ns| *time_ns <= start_ns).max();
        let waited_on = if one.parts.iter().all(|part| part.answer.is_some()) {
            last_ns
        } else {
            last_ns.max(Some(one.last_asked_ns))
        };
        if waited_on.is_some_and(|last_ns| start_ns.saturating_sub(last_ns) <= LATEST_CONNECTION_NS) {
            one.starts_ns = Some(one.starts_ns.map_or(start_ns, |first_ns| first_ns.min(start_ns)));
            one.connections_count += 1;
            of_connections.push((id, place as u32));
            if one.connections.len() < MOST_CONNECTIONS {
                one.connections.push(id);
            }
        }
    }
    of_connections
}

//! Names looked up: what was waited for, and all of it together.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use crate::analysis::results::Analysis;
use crate::dns::lookups::{Lookup, Transport};
use crate::dns::resolutions::Resolution;
use crate::flows::packet_limit::{PacketLimit, find};
use crate::output::describe::flows::packet_limit;
use crate::output::describe::visitor::Visitor;
use crate::output::key::{Key, key};

/// The slowest lookups that are listed.
const MOST_SLOW: usize = 1000;

/// With all those that had no answer, so many at most.
const MOST_LISTED: usize = 10_000;

/// Pairs of client and resolver that a rate is looked for.
const MOST_PAIRS: usize = 8;

/// Response codes (IANA).
const CODES: [&str; 11] = [
    "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH",
    "NOTZONE",
];

/// Places of the resolutions that are listed, in order.
pub fn listed(list: &[Resolution]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..list.len()).collect();
    if places.len() > MOST_SLOW {
        places.sort_by_key(|&place| std::cmp::Reverse((list[place].waited_ns, list[place].is_unanswered())));
        let (slow, rest) = places.split_at(MOST_SLOW);
        let unanswered =
            rest.iter().copied().filter(|&place| list[place].is_unanswered() || list[place].unanswered > 0);
        places = slow.iter().copied().chain(unanswered).take(MOST_LISTED).collect();
        places.sort_unstable();
    }
    places
}

/// By number of the connection: the index of its lookup in the list.
pub fn of_connections(analysis: &Analysis, listed: &[usize]) -> HashMap<u32, u64> {
    let indexes: HashMap<usize, u64> = listed.iter().copied().zip(0..).collect();
    let pairs = analysis.resolutions.of_connections.iter();
    pairs.filter_map(|&(id, place)| Some((id, *indexes.get(&(place as usize))?))).collect()
}

/// Lookups that are listed, and the totals of all.
pub(super) fn lookups(analysis: &Analysis, visitor: &mut impl Visitor) {
    let list = &analysis.resolutions.list;
    let listed = listed(list);
    let items = listed.iter().filter_map(|&place| list.get(place));
    visitor.records(key!("lookups"), Some(items), lookup);
    totals(analysis, list.len() - listed.len(), visitor);
}

fn lookup(one: Option<&Resolution>, visitor: &mut impl Visitor) {
    let kinds: Vec<String> = one.into_iter().flat_map(|one| &one.kinds).map(|&kind| kind_name(kind)).collect();
    let addresses: Vec<String> = one.into_iter().flat_map(|one| &one.answers).map(ToString::to_string).collect();
    visitor.text(key!("name"), one.map(|one| one.name.as_str()));
    visitor.text(key!("type"), one.map(|_| kinds.join("+")).as_deref());
    visitor.word(key!("transport"), one.map(|one| Transport::NAMES[one.transport as usize]));
    visitor.text(key!("client"), one.map(|one| one.client.to_string()).as_deref());
    visitor.text(key!("resolver"), one.map(|one| one.resolver.to_string()).as_deref());
    visitor.known_instant(key!("asked_ns"), one.map(|one| one.asked_ns));
    visitor.known_instant(key!("last_asked_ns"), one.map(|one| one.last_asked_ns));
    visitor.integer(key!("tries"), one.map(|one| u64::from(one.tries)));
    visitor.integer(key!("queries"), one.map(|one| u64::from(one.queries)));
    visitor.integer(key!("unanswered_queries"), one.map(|one| u64::from(one.unanswered)));
    visitor.known_instant(key!("answered_ns"), one.and_then(|one| one.answered_ns));
    visitor.exact_seconds(key!("response_s"), one.and_then(|one| one.response_ns));
    visitor.exact_seconds(key!("waited_s"), one.and_then(|one| one.waited_ns));
    visitor.text(key!("rcode"), one.and_then(|one| one.rcode).map(code_name).as_deref());
    visitor.flag(key!("truncated"), one.map(|one| one.truncated));
    visitor.integer(key!("fragments_lost"), one.map(|one| u64::from(one.fragments_lost)));
    let refused = one.into_iter().flat_map(|one| one.refused);
    visitor.records(key!("icmp_errors"), Some(refused), |error, visitor| {
        visitor.integer(key!("type"), error.map(|[kind, _]| u64::from(kind)));
        visitor.integer(key!("code"), error.map(|[_, code]| u64::from(code)));
    });
    visitor.texts(key!("answers"), &addresses);
    visitor.texts(key!("searched"), one.map_or(&[], |one| &one.searched));
    visitor.exact_seconds(key!("searched_s"), one.map(|one| one.searched_ns));
    let connections = one.into_iter().flat_map(|one| &one.connections);
    visitor.integers(key!("connections"), connections.map(|&id| u64::from(id)));
    visitor.integer(key!("connections_count"), one.map(|one| u64::from(one.connections_count)));
    let frames = one.into_iter().flat_map(|one| &one.frames);
    visitor.integers(key!("frames"), frames.map(|&frame| u64::from(frame)));
}

fn totals(analysis: &Analysis, not_listed: usize, visitor: &mut impl Visitor) {
    let list = &analysis.resolutions.list;
    let sum = |of: fn(&Resolution) -> u64| Some(list.iter().map(of).sum());
    let count = |is: fn(&Resolution) -> bool| Some(list.iter().filter(|one| is(one)).count() as u64);
    let counts = &analysis.lookups.counts;
    let any = !list.is_empty() || counts.unasked > 0 || counts.questions_not_kept > 0;
    if !visitor.object(key!("lookup_totals"), any) {
        return;
    }
    visitor.integer(key!("lookups"), Some(list.len() as u64));
    visitor.integer(key!("queries"), sum(|one| u64::from(one.queries)));
    visitor.integer(key!("unanswered"), sum(|one| u64::from(one.unanswered)));
    visitor.integer(key!("unanswered_lookups"), count(Resolution::is_unanswered));
    visitor.integer(key!("refused_by_icmp"), count(|one| one.refused.is_some()));
    visitor.integer(key!("truncated"), count(|one| one.truncated));
    visitor.integer(key!("over_tcp"), count(|one| one.transport == Transport::Tcp));
    visitor.integer(key!("searched_in_vain"), sum(|one| one.searched.len() as u64));
    visitor.integer(key!("answers_to_no_question"), Some(counts.unasked));
    visitor.integer(key!("answers_mismatched"), Some(counts.mismatched));
    visitor.integer(key!("queries_not_kept"), Some(counts.questions_not_kept));
    visitor.integer(key!("answers_not_kept"), Some(counts.answers_not_kept));
    visitor.integer(key!("not_listed"), Some(not_listed as u64));
    let mut by_code: BTreeMap<String, u64> = BTreeMap::new();
    list.iter().filter_map(|one| one.rcode).for_each(|code| *by_code.entry(code_name(code)).or_default() += 1);
    visitor.counts(key!("rcodes"), by_code.iter().map(|(name, count)| (name.as_str(), *count)));
    quantiles(key!("waited"), list.iter().filter_map(|one| one.waited_ns).collect(), visitor);
    quantiles(key!("response"), list.iter().filter_map(|one| one.response_ns).collect(), visitor);
    let limits = rate_limits(analysis.lookups.all());
    visitor.records(key!("rate_limits"), Some(limits.iter()), |limited, visitor| {
        visitor.text(key!("client"), limited.map(|limited| limited.client.to_string()).as_deref());
        visitor.text(key!("resolver"), limited.map(|limited| limited.resolver.to_string()).as_deref());
        visitor.integer(key!("queries"), limited.map(|limited| limited.queries));
        visitor.integer(key!("unanswered"), limited.map(|limited| limited.unanswered));
        packet_limit(limited.map(|limited| &limited.limit), visitor);
    });
    visitor.end();
}

fn quantiles(key: Key, mut list: Vec<i64>, visitor: &mut impl Visitor) {
    list.sort_unstable();
    if !visitor.object(key, !list.is_empty()) {
        return;
    }
    let quantile = |part: usize| list.get(list.len().saturating_sub(1) * part / 100).copied();
    visitor.integer(key!("count"), Some(list.len() as u64));
    visitor.exact_seconds(key!("total_s"), Some(list.iter().fold(0, |sum: i64, one| sum.saturating_add(*one))));
    visitor.exact_seconds(key!("median_s"), quantile(50));
    visitor.exact_seconds(key!("p95_s"), quantile(95));
    visitor.exact_seconds(key!("p99_s"), quantile(99));
    visitor.exact_seconds(key!("max_s"), quantile(100));
    visitor.end();
}

/// A resolver that answers a client at a rate.
struct Limited {
    client: IpAddr,
    resolver: IpAddr,
    queries: u64,
    unanswered: u64,
    limit: PacketLimit,
}

/// The rates that resolvers answer clients at, whatever is asked; those with the most unanswered queries are looked at.
fn rate_limits(lookups: &[Lookup]) -> Vec<Limited> {
    let mut pairs: HashMap<(IpAddr, IpAddr), Vec<(i64, bool)>> = HashMap::new();
    for one in lookups.iter().filter(|one| one.transport == Transport::Udp) {
        if let Some(asked_ns) = one.asked_ns {
            pairs.entry((one.client, one.resolver)).or_default().push((asked_ns, one.answered_ns.is_some()));
        }
    }
    let unanswered = |list: &[(i64, bool)]| list.iter().filter(|(_, answered)| !answered).count() as u64;
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(pair, list)| (std::cmp::Reverse(unanswered(list)), *pair));
    let limited = pairs.into_iter().take(MOST_PAIRS).filter_map(|((client, resolver), mut list)| {
        list.sort_unstable();
        let (queries, unanswered) = (list.len() as u64, unanswered(&list));
        find(&list).map(|limit| Limited { client, resolver, queries, unanswered, limit })
    });
    limited.collect()
}

fn kind_name(kind: u16) -> String {
    let name = match kind {
        1 => "A",
        2 => "NS",
        5 => "CNAME",
        6 => "SOA",
        12 => "PTR",
        15 => "MX",
        16 => "TXT",
        28 => "AAAA",
        33 => "SRV",
        64 => "SVCB",
        65 => "HTTPS",
        255 => "ANY",
        other => return format!("TYPE{other}"),
    };
    name.to_owned()
}

fn code_name(code: u8) -> String {
    CODES.get(usize::from(code)).map_or_else(|| format!("RCODE{code}"), |name| (*name).to_owned())
}

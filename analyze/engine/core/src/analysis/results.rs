//! What an analysis gives: inputs, connections, names, packets; and how results of inputs that were analysed apart become
//! one.

use std::borrow::Cow;
use std::ops::Range;

use crate::analysis::echoes::Echoes;
use crate::analysis::outline::Outline;
use crate::decode::icmp::IcmpError;
use crate::decode::unread::Unread;
use crate::dns::lookups::Lookups;
use crate::dns::resolutions::Resolutions;
use crate::flows::neighbours::Neighbours;
use crate::flows::protocols::Amount;
use crate::flows::table::Flows;
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::tcp::capture::lag::Lag;
use crate::tcp::connection::environment::ClockStep;
use crate::tcp::flow::selection::KnownConnection;
use crate::tcp::flow::unanswered::Unanswered;
use crate::tcp::rates::syn_series::OpeningSeries;
use crate::tcp::requests::servers::Servers;
use crate::tcp::rows::rows::Rows;
use crate::tcp::shared_limits::{Given, SharedLimit};
use crate::tcp::summary::summary::ConnectionSummary;

/// One input and what was found wrong with the capture.
#[derive(Debug, Clone, Default)]
pub struct InputSummary {
    /// What reading learnt.
    pub facts: InputFacts,
    /// TCP segments decoded.
    pub tcp_packets: u64,
    /// Frames without one, by reason.
    pub undecoded: Vec<(String, u64)>,
    /// Tunnels and link layers that are not read, by their look.
    pub unread_tunnels: Vec<Unread>,
    /// Bytes acknowledged but never captured; none where one direction alone is there.
    pub unseen_acked_bytes: Option<u64>,
    /// Frames captured twice.
    pub duplicates: u64,
    /// Frames recorded out of order.
    pub reordered: u64,
    /// Packets with a wrong checksum that no offload explains.
    pub bad_checksums: u64,
    /// Steps of the capture clock.
    pub clock_steps: u64,
    /// So much later than others some hosts were recorded, nanoseconds.
    pub lag_ns: Option<i64>,
    /// That was taken away before the analysis.
    pub lag_removed: bool,
    /// Connections of which one direction alone is in the capture.
    pub one_direction_connections: u64,
}

/// What is known of all inputs where connections are analysed apart, of packets that were read in another run.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// How many there are.
    pub count: usize,
    /// No frame has a time.
    pub timeless: bool,
    /// Time of the last frame of all: how long the capture goes on behind a connection.
    pub end_ns: Option<i64>,
    /// ICMP errors of all inputs, in their order.
    pub icmp_errors: Vec<IcmpError>,
    /// Those that belong to a connection of this part.
    pub icmp_given: IcmpGiven,
    /// Connections are a part of all: the limits that they share are found by whoever knows all, and given here once they are.
    pub shared: Option<Vec<Given>>,
}

/// Places of errors in the list of all, of which it is known elsewhere that only one connection fits them, and that it is here.
#[derive(Debug, Clone, Default)]
pub struct IcmpGiven {
    /// Their addresses were translated.
    pub translated: Vec<u32>,
    /// They quote other addresses, and are only related to it.
    pub related: Vec<u32>,
}

/// What is known of an ICMP error where connections are analysed apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IcmpFate {
    /// A connection has the addresses and ports that it quotes.
    pub is_owned: bool,
    /// Connections whose server and sequence numbers fit it, if there is none.
    pub candidates: u32,
    /// Connections to one of whose hosts it was sent, and that sent what it quotes, if there is none.
    pub related: u32,
}

/// What is no TCP, and no name looked up.
#[derive(Debug, Default)]
pub struct Datagrams {
    /// Flows.
    pub flows: Flows,
    /// Who asked for whom on the link.
    pub neighbours: Neighbours,
    /// Frames and bytes by protocol, the most bytes first; together all that is in the files.
    pub protocols: Vec<(Cow<'static, str>, Amount)>,
    /// ICMP errors that quote no flow and no TCP segment.
    pub errors_of_none: u64,
}

impl Datagrams {
    /// Adds those of inputs that were analysed apart and follow `inputs` others.
    fn append(&mut self, next: Self, inputs: u16) {
        self.flows.append(next.flows, inputs);
        self.neighbours.append(next.neighbours);
        self.errors_of_none += next.errors_of_none;
        for (name, amount) in next.protocols {
            match self.protocols.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => sum.add(amount),
                None => self.protocols.push((name, amount)),
            }
        }
        self.protocols.sort_by_key(|(_, amount)| std::cmp::Reverse(amount.wire_bytes));
    }
}

/// All results.
#[derive(Debug, Default)]
pub struct Analysis {
    /// As many threads as have read may write; 0 and 1 both mean one.
    pub threads: usize,
    /// The run was ended early.
    pub interrupted: bool,
    /// There was no room for more: the rest was not read.
    pub is_exhausted: bool,
    /// SYNs without a reply that were too many for a connection each.
    pub unanswered: Unanswered,
    /// Inputs in the order given.
    pub inputs: Vec<InputSummary>,
    /// Connections in order of their first packet.
    pub connections: Summaries,
    /// Limits that several of them share, the highest rate first.
    pub shared_limits: Vec<SharedLimit>,
    /// Of a part of all connections: what is needed to find the limits that they share with others, packed.
    pub packed: Vec<u8>,
    /// Servers that were asked, where they were counted elsewhere; else by these connections.
    pub known_servers: Option<Servers>,
    /// Of a part of all connections: their outlines, packed.
    pub packed_outlines: Vec<u8>,
    /// Connections that were analysed elsewhere, in the order of their numbers.
    pub known_outlines: Option<Vec<Outline>>,
    /// Steps of the captures' clocks, as each connection sees them.
    pub clock_steps: Vec<ClockStep>,
    /// SYNs over time.
    pub openings: OpeningSeries,
    /// Names looked up, with the addresses answered.
    pub lookups: Lookups,
    /// What was waited for: names with their types, tries and suffixes together.
    pub resolutions: Resolutions,
    /// ICMP echo requests and their replies.
    pub echoes: Echoes,
    /// Datagram flows, and what else is no TCP.
    pub datagrams: Datagrams,
    /// Of a part of all connections: what is known of each ICMP error.
    pub icmp_fates: Vec<IcmpFate>,
    /// Packets of the connections asked for.
    pub rows: Rows,
    /// Inputs that could not be read (to their end).
    pub errors: Vec<ReadError>,
    /// Hosts that were recorded late, unless the options took that away: the times of their packets are wrong, and so is what
    /// follows from them.
    pub lags: Vec<Lag>,
    /// Hosts of which the options took it away.
    pub lags_removed: Vec<Lag>,
}

impl Analysis {
    /// Adds what was measured of further inputs, which were analysed apart: connections are numbered through, inputs
    /// follow each other.
    pub fn append(&mut self, mut next: Self) {
        let connections = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let inputs = u16::try_from(self.inputs.len()).unwrap_or(u16::MAX);
        for connection in &mut next.connections {
            connection.id = connection.id.saturating_add(connections);
            connection.input = connection.input.saturating_add(inputs);
        }
        self.threads = self.threads.max(next.threads);
        self.interrupted |= next.interrupted;
        self.is_exhausted |= next.is_exhausted;
        self.unanswered.merge(next.unanswered);
        self.connections.append(&mut next.connections);
        self.inputs.append(&mut next.inputs);
        self.shared_limits.extend(next.shared_limits.into_iter().map(|limit| limit.moved(connections)));
        self.openings.merge(next.openings);
        let steps = next.clock_steps.into_iter();
        self.clock_steps.extend(steps.map(|step| ClockStep { input: step.input.saturating_add(inputs), ..step }));
        self.lookups.merge([next.lookups.moved(inputs)]);
        self.resolutions.append(next.resolutions, connections);
        self.echoes.append(next.echoes, inputs);
        self.datagrams.append(next.datagrams, inputs);
        self.rows.append(next.rows, connections, inputs);
        self.errors.extend(next.errors.into_iter().map(|error| error.moved(inputs)));
        let moved = |lag: Lag| Lag { input: lag.input.saturating_add(inputs), ..lag };
        self.lags.extend(next.lags.into_iter().map(moved));
        self.lags_removed.extend(next.lags_removed.into_iter().map(moved));
    }

    /// Outlines of all connections, in order of their numbers, wherever they were analysed.
    pub fn outlines(&self) -> impl Iterator<Item = Outline> {
        let own = self.connections.iter().map(|summary| Outline::of(summary));
        own.chain(self.known_outlines.iter().flatten().cloned())
    }

    /// Servers that were asked.
    pub fn servers(&self) -> Servers {
        if let Some(known) = &self.known_servers {
            return known.clone();
        }
        let mut servers = Servers::default();
        for (place, summary) in self.connections.iter().enumerate() {
            if let Ok(requests) = summary.requests() {
                servers.add(summary.server_key(), place, requests);
            }
        }
        servers
    }

    /// Adds the packets of connections that were known, with the numbers that they have.
    pub fn append_packets(&mut self, next: Self, first_input: u16) {
        self.interrupted |= next.interrupted;
        self.rows.append(next.rows, 0, first_input);
    }

    /// What an analysis of some of the inputs has to know to give the packets of these connections: those of them that lie in
    /// the inputs, and hosts that were recorded late.
    pub fn known(&self, numbers: &[u32], inputs: Range<u16>) -> (Vec<KnownConnection>, Vec<Lag>) {
        let found =
            numbers.iter().filter_map(|&number| Some((number, self.connections.get(number.checked_sub(1)? as usize)?)));
        let known = found.filter(|(_, summary)| inputs.contains(&summary.input));
        let lags = self.lags_removed.iter().filter(|lag| inputs.contains(&lag.input));
        (
            known.map(|(number, summary)| KnownConnection::of(summary, number)).collect(),
            lags.map(|lag| Lag { input: lag.input - inputs.start, ..*lag }).collect(),
        )
    }

    /// Adds `count` inputs that could not be read at all.
    pub fn append_unread(&mut self, count: usize, errors: Vec<ReadError>) {
        let first = u16::try_from(self.inputs.len()).unwrap_or(u16::MAX);
        self.inputs.resize_with(self.inputs.len() + count, Default::default);
        self.errors.extend(errors.into_iter().map(|error| error.moved(first)));
    }
}

/// Connections as the shards leave them: boxed one by one, so that gathering a million of them copies nothing.
#[allow(clippy::vec_box)]
pub type Summaries = Vec<Box<ConnectionSummary>>;

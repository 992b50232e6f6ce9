//! What one reading of the inputs leaves, and how several become one result.

use crate::tcp::verdict::allowance;

use crate::analysis::failure::Failure;
use crate::analysis::icmp_errors::Gathered;
use crate::analysis::lag::LaggedSource;
use crate::analysis::options::{Observer, Options};
use crate::analysis::others::Others;
use crate::analysis::part::Part;
use crate::analysis::results::{Analysis, Datagrams, InputSummary, Inputs, Summaries};
use crate::analysis::second_look::Sample;
use crate::analysis::slices::outlines;
use crate::analysis::stage::{Collected, InputTally, Intake};
use crate::analysis::time_order::{Patience, TimeOrder};
use crate::analysis::tunnels::GatheredTunnels;
use crate::analysis::{parallel, serial};
use crate::dns::lookups::Lookups;
use crate::dns::resolutions::{Follower, Resolutions, resolutions};
use crate::flows::protocols::Amount;
use crate::keyed::KeyedSet;
use crate::read::chunk_source::ChunkSource;
use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::tcp::capture::lag::Lag;
use crate::tcp::connection::environment::ClockStep;
use crate::tcp::flow::memory_budget::Room;
use crate::tcp::flow::selection::flow_hash;
use crate::tcp::flow::table::{Shard, Shared};
use crate::tcp::flow::unanswered::Attempt;
use crate::tcp::shared_limits::Given;
use crate::tcp::summary::summary::{ConnectionSummary, DirectionSummary};
use crate::tcp::{outcome, shared_limits};

/// See the module.
#[derive(Default)]
pub struct Reading {
    /// Connections in any order.
    pub connections: Summaries,
    /// It was ended early.
    pub interrupted: bool,
    /// There was no room for more.
    pub is_exhausted: bool,
    /// Bytes of the files.
    pub consumed_bytes: u64,
    /// About what open connections took in memory at last.
    pub open_bytes: usize,
    /// No frame of any input has a time.
    is_timeless: bool,
    /// Time of the last frame, where frames were read in another run.
    end_ns: Option<i64>,
    /// Packets were read in another run: what is no TCP is analysed apart.
    is_of_slices: bool,
    /// The connections are a part of all; limits that they share.
    shared_limits: Option<Vec<Given>>,
    shared: Shared,
    others: Others,
    facts: Vec<InputFacts>,
    tallies: Vec<InputTally>,
    errors: Vec<ReadError>,
}

impl Reading {
    /// Reads all of the source and analyses the part's connections. True if there was no room for them: then the reading was given up
    /// and nothing of it counts.
    ///
    /// # Errors
    /// As [`crate::analysis::whole::analyze`].
    pub fn of_part(
        source: Box<dyn ChunkSource>,
        options: &Options,
        part: &Part,
        observer: &dyn Observer,
        patience: Patience,
    ) -> Result<(Self, bool), Failure> {
        let source = Self::corrected(source, options, patience);
        let mut intake = Intake::new(source, options, observer);
        let run = if options.threads <= 1 { serial::run } else { parallel::run };
        let collected = run(&mut intake, options, part);
        let is_overfull = collected.is_overfull;
        Ok((Self::ended(intake, collected)?, is_overfull))
    }

    /// All that `intake` gave was read, or there was no room for it.
    ///
    /// # Errors
    /// As [`crate::analysis::whole::analyze`].
    pub(super) fn ended(intake: Intake<'_>, collected: Collected) -> Result<Self, Failure> {
        let Collected { shards, tallies, others, is_overfull, is_exhausted } = collected;
        let mut reading = Self::of_frames(intake, tallies, others)?;
        reading.is_exhausted = is_exhausted;
        reading.interrupted |= is_exhausted;
        reading.open_bytes = shards.iter().map(Shard::open_bytes).sum();
        (reading.connections, reading.shared) = gather(if is_overfull { Vec::new() } else { shards });
        Ok(reading)
    }

    /// `source` in order of time, with the hosts that were recorded late put right.
    pub fn corrected(source: Box<dyn ChunkSource>, options: &Options, patience: Patience) -> Box<dyn ChunkSource> {
        let source = Box::new(TimeOrder::new(source, patience));
        if options.lags.is_empty() { source } else { Box::new(LaggedSource::new(source, &options.lags)) }
    }

    /// What was read, without connections.
    ///
    /// # Errors
    /// As [`crate::analysis::whole::analyze`].
    pub fn of_frames(mut intake: Intake<'_>, tallies: Vec<InputTally>, others: Others) -> Result<Self, Failure> {
        if let Some(what) = intake.filter_error.take() {
            return Err(Failure::Filter(what));
        }
        let facts = intake.source.inputs();
        if facts.iter().all(|facts| facts.packets == 0) && !intake.errors.is_empty() {
            return Err(Failure::Read(std::mem::take(&mut intake.errors)));
        }
        let consumed_bytes = intake.source.consumed_bytes();
        let is_timeless = facts.iter().all(InputFacts::is_timeless);
        let Intake { interrupted, errors, .. } = intake;
        Ok(Self { interrupted, consumed_bytes, is_timeless, others, facts, tallies, errors, ..Self::default() })
    }

    /// What has been read so far of `intake`, and `collected` of it.
    pub(super) fn so_far(intake: &Intake<'_>, collected: Collected) -> Self {
        let Collected { shards, tallies, others, .. } = collected;
        let facts = intake.source.inputs();
        let is_timeless = facts.iter().all(InputFacts::is_timeless);
        let (connections, shared) = gather(shards);
        let consumed_bytes = intake.source.consumed_bytes();
        Self { connections, shared, consumed_bytes, is_timeless, others, facts, tallies, ..Self::default() }
    }

    /// The connections of packets that were read before, in another run ([`crate::analysis::slices`]).
    pub fn of_slices(shard: Shard, tunnels: GatheredTunnels, inputs: &Inputs, interrupted: bool) -> Self {
        let open_bytes = shard.open_bytes();
        let (connections, shared) = gather(vec![shard]);
        let facts = vec![InputFacts::default(); inputs.count];
        let icmp = Gathered::apart(inputs.icmp_errors.clone(), inputs.icmp_given.clone());
        Self {
            connections,
            shared,
            interrupted,
            is_timeless: inputs.timeless,
            end_ns: inputs.end_ns,
            is_of_slices: true,
            shared_limits: inputs.shared.clone(),
            open_bytes,
            facts,
            others: Others { icmp, tunnels, ..Others::default() },
            ..Self::default()
        }
    }

    /// Connections of which most came twice, or was retransmitted, or that are there twice: captures of two points may have been put
    /// together. None if there are none; where one capture stands behind the other, others may be.
    pub(super) fn second_look(&self) -> Option<Sample> {
        // Those that were read beside each other show copies as any.
        let is_behind_another = |facts: &InputFacts| facts.clock_steps_back + facts.out_of_time_order.appended_left > 0;
        let are_behind_one_another = self.facts.iter().any(is_behind_another);
        let mut concerned = self.connections_twice();
        let mut others = Vec::new();
        for one in &self.connections {
            if came_twice(one) {
                concerned.push(flow_of(one));
            } else if are_behind_one_another {
                others.push(flow_of(one));
            }
        }
        let sample = Sample::of(concerned, others);
        (!sample.is_empty()).then_some(sample)
    }

    /// The ports and the number of the SYN, if it was seen, are those of another connection. Of very many a sample is looked at.
    fn connections_twice(&self) -> Vec<(u32, u64)> {
        let stride = self.connections.len() / CONNECTIONS_LOOKED_AT + 1;
        // With room for all: a table that grows puts each in several times.
        let room = self.connections.len() / stride + 1;
        let mut known = KeyedSet::with_capacity_and_hasher(room, Default::default());
        let looked_at = self.connections.iter().filter(|one| usize::from(one.ports[0]).is_multiple_of(stride));
        looked_at
            .filter(|one| !known.insert((one.addresses, one.ports, one.client_isn)))
            .map(|one| flow_of(one))
            .collect()
    }

    /// The largest step back in time of records that came too late to be put into order; none if there are none.
    pub fn too_late_ns(&self) -> Option<i64> {
        let disorder = self.facts.iter().map(|facts| facts.out_of_time_order);
        let is_left = disorder.clone().any(|disorder| disorder.left > 0);
        is_left.then(|| disorder.map(|disorder| disorder.largest_step_ns).max()).flatten()
    }

    /// Captures stand one behind the other, though their times overlap.
    pub fn has_appended(&self) -> bool {
        self.facts.iter().any(|facts| facts.out_of_time_order.appended_left > 0)
    }

    /// Adds the connections of another part of the same inputs. What is said of frames is the same in both.
    ///
    /// # Errors
    /// [`Failure::Read`] if an input is another now. It may have grown.
    pub fn add(&mut self, part: Self) -> Result<(), Failure> {
        let is_other = |(before, now): (&InputFacts, &InputFacts)| {
            before.start_ns != now.start_ns || now.packets < before.packets && !part.interrupted
        };
        if let Some(input) = self.facts.iter().zip(&part.facts).position(is_other) {
            let source = std::io::Error::other("it was changed while it was read: analyse a copy of it");
            return Err(Failure::Read(vec![ReadError::Io { input: u16::try_from(input).unwrap_or(u16::MAX), source }]));
        }
        self.connections.extend(part.connections);
        self.shared.merge(part.shared);
        self.interrupted |= part.interrupted;
        self.is_exhausted |= part.is_exhausted;
        Ok(())
    }

    /// Sums up SYNs without a reply if they take too much of the room, or others were.
    pub(super) fn sum_up(&mut self, room: &Room) {
        let unanswered = || self.connections.iter().filter(|one| Attempt::of_summary(one).is_some()).count();
        if !self.shared.unanswered.is_empty() || room.sums(self.connections.len()) && room.sums(unanswered()) {
            self.sum_all();
        }
    }

    fn sum_all(&mut self) {
        let unanswered = &mut self.shared.unanswered;
        self.connections.retain(|one| {
            let attempt = Attempt::of_summary(one);
            attempt.iter().for_each(|attempt| unanswered.add(attempt));
            attempt.is_none()
        });
    }

    /// The result: connections in order of their first packets, and numbered.
    pub fn conclude(mut self, options: &Options) -> Analysis {
        if !self.shared.unanswered.is_empty() {
            self.sum_all();
        }
        let known_end_ns = self.end_ns;
        let Self {
            mut connections,
            interrupted,
            is_exhausted,
            is_timeless,
            is_of_slices,
            shared_limits: given,
            shared,
            others,
            facts,
            tallies,
            errors,
            ..
        } = self;
        let Others { mut lookups, mut icmp, flows, neighbours, protocols, tunnels, errors_of_none } = others;
        let protocols = protocols.finish(all_frames(&facts, &tallies));
        // Each summary is somewhere else in memory: looked at once.
        connections.sort_by_cached_key(|summary| summary.order);
        let gone = &shared.forgotten;
        connections.iter_mut().zip(1..).for_each(|(summary, number)| summary.id = number + gone.before(summary.order));
        tunnels.join(&mut connections);
        let packed_outlines = if is_of_slices { outlines::packed(&connections) } else { Vec::new() };
        let over_tcp: Vec<_> = connections.iter_mut().filter_map(|summary| summary.lookups.take()).collect();
        lookups.merge(over_tcp.into_iter().map(|lookups| *lookups));
        let echoes = std::mem::take(&mut icmp.echoes);
        let icmp_fates = icmp.join(&mut connections);
        // Without the names over UDP it is open what followed what.
        let resolutions = if is_of_slices { Resolutions::default() } else { followed(&lookups, &connections) };
        let end_ns = facts.iter().filter_map(|facts| facts.end_ns).chain(known_end_ns).max();
        outcome::settle(&mut connections, end_ns);
        let doubted: Vec<bool> =
            (0..).zip(&tallies).map(|(input, tally)| doubt(&mut connections, input, tally)).collect();
        adapt(&mut connections, is_timeless, options.allowed_bps);
        let (shared_limits, packed) = match given {
            None => (shared_limits::find(&mut connections), Vec::new()),
            Some(given) => {
                let packed = shared_limits::packed_flows(&mut connections);
                shared_limits::give(&mut connections, &given);
                (Vec::new(), packed)
            }
        };
        connections.iter_mut().for_each(|connection| connection.decide());
        let inputs = facts.into_iter().enumerate().map(|(index, facts)| {
            let tally = tallies.get(index).cloned().unwrap_or_default();
            let mut summary = input_summary(index, facts, &tally, &shared, &options.lags);
            if doubted.get(index) == Some(&true) {
                summary.one_direction_connections = 0;
            }
            summary
        });
        Analysis {
            threads: options.threads,
            interrupted,
            is_exhausted,
            inputs: inputs.collect(),
            unanswered: shared.unanswered,
            connections,
            shared_limits,
            packed,
            datagrams: Datagrams { flows, neighbours, protocols, errors_of_none },
            known_servers: None,
            packed_outlines,
            known_outlines: None,
            clock_steps: shared.environment.clock_steps,
            openings: shared.environment.openings,
            lookups,
            resolutions,
            echoes,
            icmp_fates,
            lags: if options.lags.is_empty() { shared.faults.lags().to_vec() } else { Vec::new() },
            lags_removed: options.lags.clone(),
            rows: shared.environment.rows.finish(),
            errors,
        }
    }
}

/// A capture without times has none of its own, and nothing goes beyond an allowance.
fn adapt(connections: &mut [Box<ConnectionSummary>], is_timeless: bool, allowed_bps: Option<f64>) {
    if is_timeless {
        connections.iter_mut().for_each(|connection| connection.forget_times());
    }
    if let Some(allowed_bps) = allowed_bps {
        connections.iter_mut().for_each(|connection| allowance::allow(connection, allowed_bps));
    }
}

/// The hash of a connection, and about its packets.
fn flow_of(connection: &ConnectionSummary) -> (u32, u64) {
    let packets = |direction: &DirectionSummary| direction.packets + u64::from(direction.loss.capture_duplicates);
    (flow_hash(connection), connection.directions.iter().map(packets).sum())
}

/// Frames of link layers that are not read may hold the other direction.
fn doubt(connections: &mut Summaries, input: u16, tally: &InputTally) -> bool {
    let unread_frames = tally.unread().iter().map(|unread| unread.packets).sum();
    outcome::doubt_one_direction(connections, input, unread_frames)
}

fn came_twice(connection: &ConnectionSummary) -> bool {
    let again = |direction: &DirectionSummary| {
        let loss = &direction.loss;
        let again =
            [loss.retransmitted, loss.capture_duplicates, loss.network_duplicates].map(u64::from).iter().sum::<u64>();
        let bytes_again = 4 * loss.retransmitted_bytes >= direction.unique_payload_bytes;
        (4 * again >= direction.packets || bytes_again) && again >= FEWEST_AGAIN
    };
    connection.directions.iter().all(|direction| direction.loss.syn > 0) || connection.directions.iter().any(again)
}

fn followed(lookups: &Lookups, connections: &Summaries) -> Resolutions {
    let follower = |summary: &ConnectionSummary| {
        let addresses = [0, 1].map(|side| summary.address(side));
        Follower { id: summary.id, addresses, start_ns: summary.start_ns }
    };
    resolutions(lookups.all(), connections.iter().map(|summary| follower(summary)))
}

/// What is in the files, but for what a filter left out.
fn all_frames(facts: &[InputFacts], tallies: &[InputTally]) -> Amount {
    let mut all = Amount::default();
    for facts in facts {
        all.add(Amount { packets: facts.packets, wire_bytes: facts.wire_bytes });
    }
    for left_out in tallies.iter().map(InputTally::filtered) {
        all.packets = all.packets.saturating_sub(left_out.packets);
        all.wire_bytes = all.wire_bytes.saturating_sub(left_out.wire_bytes);
    }
    all
}

/// The shards' connections, and what they share.
fn gather(shards: Vec<Shard>) -> (Summaries, Shared) {
    let mut all = Summaries::new();
    let mut together = Shared::default();
    for shard in shards {
        let (summaries, shared) = shard.finish_all();
        if all.is_empty() {
            (all, together) = (summaries, shared);
            continue;
        }
        all.extend(summaries);
        together.merge(shared);
    }
    (all, together)
}

fn input_summary(
    index: usize,
    facts: InputFacts,
    tally: &InputTally,
    shared: &Shared,
    removed: &[Lag],
) -> InputSummary {
    let faults = shared.faults.of(index);
    let longest = |lags: &[Lag]| lags.iter().filter(|lag| usize::from(lag.input) == index).map(|lag| lag.lag_ns).max();
    let removed_ns = longest(removed);
    InputSummary {
        tcp_packets: tally.tcp_packets + facts.left_out,
        undecoded: tally.undecoded(),
        unread_tunnels: tally.unread(),
        clock_steps: facts.clock_steps_back.max(distinct_steps(&shared.environment.clock_steps, index)),
        duplicates: faults.duplicates + facts.left_out,
        facts,
        unseen_acked_bytes: faults.unseen_acked_bytes(),
        reordered: faults.reordered,
        bad_checksums: faults.bad_checksums,
        lag_ns: removed_ns.or_else(|| longest(shared.faults.lags())),
        lag_removed: removed_ns.is_some(),
        one_direction_connections: faults.one_direction_connections,
    }
}

/// Connections that are looked at for one that is there twice, about.
const CONNECTIONS_LOOKED_AT: usize = 4096;

/// So many packets that came again make a second look worth while.
const FEWEST_AGAIN: u64 = 8;

/// Steps within this time are the same.
const SAME_STEP_NS: i64 = 1_000_000_000;

/// One step shows in every connection that is open, in each when its next packet passes.
fn distinct_steps(steps: &[ClockStep], index: usize) -> u64 {
    let mut times: Vec<i64> =
        steps.iter().filter(|step| usize::from(step.input) == index).map(|step| step.time_ns).collect();
    times.sort_unstable();
    let mut last = None;
    let mut count = 0;
    for time_ns in times {
        if last.is_none_or(|last: i64| time_ns.saturating_sub(last) > SAME_STEP_NS) {
            count += 1;
        }
        last = Some(time_ns);
    }
    count
}

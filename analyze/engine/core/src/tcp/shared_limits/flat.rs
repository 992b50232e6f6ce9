//! Does the sum of several transfers stand at a rate that they share?
//!
//! Each alone rises and falls, with losses and with what the others do, and the sum does not: what one gives up another gets. Of
//! transfers that know nothing of each other the variances add up. Where each is limited by itself at a steady rate the sum is
//! steady, too, but no steadier than that.
//!
//! Rule: docs/verdict.md, "Shared limits".

use crate::tcp::rates::series::{Bin, Series};
use crate::tcp::shared_limits::groups::SharingFlow;
use crate::tcp::shared_limits::member::{FEWEST_CELLS, members};
use crate::tcp::shared_limits::sum::{SharedSum, series, shares};
use crate::tcp::token_bucket;
use crate::tcp::token_bucket::bucket::{BucketTerms, CountedBytes, FEWEST_LOST_SEGMENTS, LimiterKind, TokenBucket};
use crate::tcp::token_bucket::fit::{median, quantile};

/// Cells in which two of them or more were there.
const FEWEST_SHARED_CELLS: usize = 8;

/// A cell at the rate is within this share of it.
const AT_RATE: f64 = 0.15;

/// Share of the cells between the first and the last at the rate that are at it, too.
const MOSTLY: f64 = 0.75;

/// The sum varies less than this (coefficient of variation).
const MOST_VARIATION: f64 = 0.12;

/// Its variance is at most this share of the sum of their variances, and less where there are few cells: chance makes independent
/// transfers seem to share something once in some hundred times then.
const MOST_OF_VARIANCES: f64 = 0.25;

/// The same below a token bucket, which shows in the sum by more than that: policers make all lose at once.
const OF_VARIANCES_IN_BUCKET: f64 = 0.4;

const SIGMAS: f64 = 3.0;

/// Share of their time in which the network set their rates.
const NETWORK_SHARE: f64 = 0.5;

/// A policer drops such a share, while nine of ten stretches have round trips that are so much longer than the shortest at most; of so many.
/// A link whose queue holds next to nothing does the same: it is no surer than that.
const LEAST_DROPPED: f64 = 0.03;

const LONG_RANK: f64 = 0.9;

const MOST_LONGER: f64 = 1.05;

const FEWEST_SEEN: usize = 20;

const WITHOUT_QUEUE_CONFIDENCE: f64 = 0.8;

/// How sure it is at least, and what each further sign adds.
const CONFIDENCE: f64 = 0.7;

const SURER: f64 = 0.1;

const MOST_CONFIDENCE: f64 = 0.95;

/// A flat sum.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flat {
    /// Places of the members.
    pub members: Vec<usize>,
    pub is_bucket: bool,
    pub rate_bps: f64,
    pub burst_bytes: Option<f64>,
    pub between_ns: [i64; 2],
    pub confidence: f64,
}

/// None if there is no such rate.
pub(crate) fn find(sum: &SharedSum, flows: &[&SharingFlow]) -> Option<Flat> {
    let bucket = bucket_of(flows);
    bucket
        .and_then(|bucket| by_bucket(sum, flows, bucket))
        .or_else(|| from_the_beginning(sum, flows))
        .or_else(|| bucket.and_then(|bucket| by_losses(sum, flows, bucket)))
}

/// The sum runs through a token bucket: first at a higher rate, then at a lower one.
fn by_bucket(sum: &SharedSum, flows: &[&SharingFlow], bucket: TokenBucket) -> Option<Flat> {
    let from = (0..sum.cells()).find(|&cell| sum.at_ns(cell) >= bucket.switch_ns)?;
    let members = members(sum, |members, cell| cell >= from && sum.there(members, cell) > 1);
    // What a bucket let pass before, it let pass of all that share it.
    let bucket = of_members(flows, &members, bucket)?;
    let from = (0..sum.cells()).find(|&cell| sum.at_ns(cell) >= bucket.switch_ns)?;
    let level = bucket.sustained_bps * sum.cell_s() / 8.0;
    let shown = CellsShown::of(sum, &members, level, from)?;
    let between_ns = [bucket.switch_ns, sum.at_ns(shown.to)];
    let confidence = shown
        .confidence(bucket.confidence, OF_VARIANCES_IN_BUCKET)
        .filter(|_| set_by_network(flows, &members, between_ns))?;
    Some(Flat {
        members,
        is_bucket: true,
        rate_bps: bucket.sustained_bps,
        burst_bytes: Some(bucket.burst_bytes),
        between_ns,
        confidence,
    })
}

/// All of them lose, and what they lose is lost when one bucket of all is empty. However their sum varies: they rest, or lose so much at once
/// that all of them wait.
///
/// Rule: docs/verdict.md, "A policer that several empty".
fn by_losses(sum: &SharedSum, flows: &[&SharingFlow], bucket: TokenBucket) -> Option<Flat> {
    let lost = |flow: &SharingFlow| flow.series.bins.iter().map(|bin| f64::from(bin.lost_bytes)).sum::<f64>();
    let loses = |member: &usize| lost(flows[*member]) >= FEWEST_LOST_SEGMENTS * flows[*member].segment_bytes;
    let members: Vec<usize> = (0..flows.len()).filter(loses).collect();
    // Each may have a bucket of its own; then the losses of one do not follow from what the others have.
    let is_explained = members.iter().all(|&member| flows[member].has_bucket);
    if members.len() < 2 || is_explained {
        return None;
    }
    let bucket = of_members(flows, &members, bucket).filter(|bucket| bucket.kind == LimiterKind::Policer)?;
    Some(Flat {
        members,
        is_bucket: true,
        rate_bps: bucket.sustained_bps,
        burst_bytes: Some(bucket.burst_bytes),
        between_ns: [bucket.switch_ns, sum.at_ns(sum.cells())],
        confidence: bucket.confidence.min(WITHOUT_QUEUE_CONFIDENCE),
    })
}

/// The bucket of these alone, where `of_all` is that of all.
fn of_members(flows: &[&SharingFlow], members: &[usize], of_all: TokenBucket) -> Option<TokenBucket> {
    if members.len() == flows.len() {
        return Some(of_all);
    }
    let rest: Vec<&SharingFlow> = members.iter().map(|&member| flows[member]).collect();
    bucket_of(&rest)
}

fn bucket_of(flows: &[&SharingFlow]) -> Option<TokenBucket> {
    let sum = series(flows)?;
    let largest = flows.iter().max_by(|one, other| one.bytes.total_cmp(&other.bytes))?;
    let terms = BucketTerms {
        delivered: CountedBytes::Arrived,
        overhead: 1.0,
        segment_bytes: largest.segment_bytes,
        beside_sender: largest.beside_sender,
        min_rtt_ns: None,
        path_full: &shares(flows, &sum, |flow| &flow.path_full),
        resting: &[],
        spacing: &[],
        frame_bytes: 0.0,
    };
    token_bucket::find(&sum, &shares(flows, &sum, |flow| &flow.usable), &terms)
}

/// Much of a transfer is lost, and no round trip is ever longer: a link that is full has a queue, a policer has none.
fn drops_without_queue(series: &Series) -> bool {
    let sum = |of: fn(&Bin) -> u32| series.bins.iter().map(|bin| f64::from(of(bin))).sum::<f64>();
    let (lost, arrived) = (sum(|bin| bin.lost_bytes), sum(|bin| bin.arrived_bytes));
    let loops_us = series.bins.iter().map(|bin| f64::from(bin.receiver_loop_us.max(bin.sender_loop_us)));
    let seen: Vec<f64> = loops_us.filter(|loop_us| *loop_us > 0.0).collect();
    let is_flat = quantile(&seen, 0.0).zip(quantile(&seen, LONG_RANK));
    let is_flat = is_flat.is_some_and(|(least_us, long_us)| long_us <= MOST_LONGER * least_us);
    lost >= LEAST_DROPPED * (lost + arrived) && seen.len() >= FEWEST_SEEN && is_flat
}

/// The sum stands at one rate as long as there are two of them.
fn from_the_beginning(sum: &SharedSum, flows: &[&SharingFlow]) -> Option<Flat> {
    let members = members(sum, |members, cell| sum.there(members, cell) > 1);
    let total = sum.total(&members);
    let shared: Vec<f64> =
        (0..sum.cells()).filter(|&cell| sum.there(&members, cell) > 1).map(|cell| total[cell]).collect();
    let level = median(&shared)?;
    let shown = CellsShown::of(sum, &members, level, 0)?;
    let between_ns = [sum.at_ns(shown.from), sum.at_ns(shown.to)];
    // Each of them may wander so slowly that a few happen to make up for each other: from cell to cell they do not.
    let makes_up = shown.of_steps <= MOST_OF_VARIANCES;
    let confidence = shown
        .confidence(MOST_CONFIDENCE, MOST_OF_VARIANCES)
        .filter(|_| makes_up)
        .filter(|_| set_by_network(flows, &members, between_ns))?;
    let bytes = |wanted: fn(&SharingFlow) -> bool| -> f64 {
        members.iter().map(|&member| flows[member]).filter(|flow| wanted(flow)).map(|flow| flow.bytes).sum()
    };
    let drops = members.iter().all(|&member| drops_without_queue(&flows[member].series));
    let confidence = if drops { confidence.min(WITHOUT_QUEUE_CONFIDENCE) } else { confidence };
    Some(Flat {
        is_bucket: drops || 2.0 * bytes(|flow| flow.has_bucket) > bytes(|_| true),
        members,
        rate_bps: level * 8.0 / sum.cell_s(),
        burst_bytes: None,
        between_ns,
        confidence,
    })
}

/// No application, window or host held back what they sent.
fn set_by_network(flows: &[&SharingFlow], members: &[usize], between_ns: [i64; 2]) -> bool {
    let weighted = |flow: &SharingFlow| {
        let start_ns = flow.series.start_ns;
        let of_bin = |(number, share): (usize, &f32)| {
            let time_ns = start_ns.saturating_add((number as i64).saturating_mul(flow.series.bin_ns));
            let is_within = (between_ns[0]..between_ns[1]).contains(&time_ns);
            is_within.then_some(f64::from(*share))
        };
        let shares: Vec<f64> = flow.usable.iter().enumerate().filter_map(of_bin).collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64 * flow.bytes
    };
    let members = members.iter().map(|&member| flows[member]);
    let (network, all) = members.fold((0.0, 0.0), |(network, all), flow| (network + weighted(flow), all + flow.bytes));
    network >= NETWORK_SHARE * all
}

/// What the cells of a sum show.
struct CellsShown {
    from: usize,
    to: usize,
    cells: usize,
    /// Coefficient of variation of the sum.
    variation: f64,
    /// Its variance in shares of the sum of their variances.
    of_variances: f64,
    /// The same of what changes from one cell to the next.
    of_steps: f64,
}

impl CellsShown {
    /// Cells from `start` on, between the first and the last that are at `level`; none if they are not mostly at it.
    fn of(sum: &SharedSum, members: &[usize], level: f64, start: usize) -> Option<Self> {
        let total = sum.total(members);
        let at_rate = |cell: &usize| (total[*cell] / level - 1.0).abs() <= AT_RATE;
        let is_there = |cell: &usize| sum.there(members, *cell) > 0;
        let from = (start..total.len()).find(|cell| is_there(cell) && at_rate(cell))?;
        let to = (from..total.len()).rfind(|cell| is_there(cell) && at_rate(cell))? + 1;
        let cells: Vec<usize> = (from..to).filter(|&cell| sum.there(members, cell) > 1).collect();
        let at_it = cells.iter().filter(|cell| at_rate(cell)).count();
        if cells.len() < FEWEST_SHARED_CELLS || (at_it as f64) < MOSTLY * cells.len() as f64 {
            return None;
        }
        let whole = variance(cells.iter().map(|&cell| total[cell]));
        let apart: f64 = members.iter().map(|&member| own_variance(sum, member, &cells)).sum();
        let variation = whole.sqrt() / level;
        let of_steps =
            steps(&total, &cells) / members.iter().map(|&member| own_steps(sum, member, &cells)).sum::<f64>();
        (apart > 0.0).then(|| Self { from, to, cells: cells.len(), variation, of_variances: whole / apart, of_steps })
    }

    /// How sure it is, `most` at most; none if they share nothing.
    fn confidence(&self, most: f64, most_of_variances: f64) -> Option<f64> {
        let by_chance = (-SIGMAS * (2.0 / self.cells as f64).sqrt()).exp();
        let shares = self.variation <= MOST_VARIATION && self.of_variances <= most_of_variances.min(by_chance);
        let signs = [
            self.variation <= MOST_VARIATION / 3.0,
            self.of_variances <= most_of_variances / 3.0,
            self.cells >= 4 * FEWEST_SHARED_CELLS,
        ];
        let sure = CONFIDENCE + SURER * signs.into_iter().filter(|&sign| sign).count() as f64;
        shares.then(|| sure.min(MOST_CONFIDENCE).min(most.max(CONFIDENCE)))
    }
}

/// Of a member's part of the sum while it was there, by its share of these cells.
fn own_variance(sum: &SharedSum, member: usize, cells: &[usize]) -> f64 {
    let life = sum.life(member);
    let own: Vec<f64> = cells.iter().filter(|cell| life.contains(cell)).map(|&cell| sum.parts[member][cell]).collect();
    if own.len() < FEWEST_CELLS {
        return 0.0;
    }
    variance(own.iter().copied()) * own.len() as f64 / cells.len() as f64
}

/// Mean square of what changes from one of these cells to the next.
fn steps(values: &[f64], cells: &[usize]) -> f64 {
    let pairs = cells.windows(2).filter(|pair| pair[1] == pair[0] + 1);
    let squares: Vec<f64> = pairs.map(|pair| (values[pair[1]] - values[pair[0]]).powi(2)).collect();
    squares.iter().sum::<f64>() / cells.len().max(1) as f64
}

/// That of a member while it was there.
fn own_steps(sum: &SharedSum, member: usize, cells: &[usize]) -> f64 {
    let life = sum.life(member);
    let own: Vec<usize> = cells.iter().copied().filter(|cell| life.contains(cell)).collect();
    steps(&sum.parts[member], &own) * own.len() as f64 / cells.len().max(1) as f64
}

fn variance(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    values.map(|value| (value - mean).powi(2)).sum::<f64>() / count
}

#[cfg(test)]
#[path = "flat_tests.rs"]
mod tests;

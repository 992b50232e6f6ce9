//! Several transfers in common cells of time, each with its part, and all of them as one series.

use std::ops::Range;

use crate::tcp::rates::series::{Bin, FIRST_BIN_NS, MOST_BINS, Series};
use crate::tcp::shared_limits::groups::SharingFlow;
use crate::tcp::token_bucket::fit::quantile;

/// A cell is no shorter than this, nor than so many round trips: what congestion control does within them is over then.
const SHORTEST_CELL_NS: f64 = 50e6;

const ROUND_TRIPS: f64 = 4.0;

/// Cells at most.
const MOST_CELLS: f64 = 240.0;

/// Most of the members have round trips and bins no longer than this rank's.
const MOST_OF_THEM: f64 = 0.75;

/// See the module. Bytes are those of IP packets.
#[derive(Debug)]
pub(crate) struct SharedSum {
    pub start_ns: i64,
    pub cell_ns: f64,
    /// Bytes of each member in each cell.
    pub parts: Vec<Vec<f64>>,
    /// Cells that lie wholly between a member's first and last data.
    lives: Vec<Range<usize>>,
}

impl SharedSum {
    /// None if their times do not make cells enough to tell anything.
    pub fn of(flows: &[&SharingFlow]) -> Option<Self> {
        let [start_ns, end_ns] = span(flows)?;
        let span_ns = end_ns.saturating_sub(start_ns) as f64;
        let most = |of: fn(&SharingFlow) -> f64| {
            quantile(&flows.iter().map(|flow| of(flow)).collect::<Vec<_>>(), MOST_OF_THEM).unwrap_or(0.0)
        };
        let round_trips_ns = ROUND_TRIPS * most(|flow| flow.rtt_ns);
        let bins_ns = most(|flow| flow.series.bin_ns as f64);
        let cell_ns = SHORTEST_CELL_NS.max(round_trips_ns).max(bins_ns).max(span_ns / MOST_CELLS);
        let cells = (span_ns / cell_ns).ceil().max(1.0) as usize;
        let parts = flows.iter().map(|flow| {
            let mut part = vec![0.0; cells];
            spread(&flow.series, start_ns, cell_ns, &mut part, |bin| f64::from(bin.arrived_bytes));
            part
        });
        let lives = flows.iter().map(|flow| whole_cells(&flow.series, start_ns, cell_ns, cells));
        Some(Self { start_ns, cell_ns, parts: parts.collect(), lives: lives.collect() })
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.parts.first().map_or(0, Vec::len)
    }

    /// Length of a cell, seconds.
    pub fn cell_s(&self) -> f64 {
        self.cell_ns / 1e9
    }

    /// When a cell begins.
    pub fn at_ns(&self, cell: usize) -> i64 {
        self.start_ns.saturating_add((cell as f64 * self.cell_ns) as i64)
    }

    /// The cells of which a member had all the time.
    pub fn life(&self, member: usize) -> Range<usize> {
        self.lives[member].clone()
    }

    /// How many of these members were there all the time of a cell.
    pub fn there(&self, members: &[usize], cell: usize) -> usize {
        members.iter().filter(|&&member| self.lives[member].contains(&cell)).count()
    }

    /// Bytes of these members in each cell.
    pub fn total(&self, members: &[usize]) -> Vec<f64> {
        let of_cell = |cell: usize| members.iter().map(|&member| self.parts[member][cell]).sum();
        (0..self.cells()).map(of_cell).collect()
    }
}

/// From the first data to the last.
fn span(flows: &[&SharingFlow]) -> Option<[i64; 2]> {
    let start_ns = flows.iter().map(|flow| flow.series.start_ns).min()?;
    let end_ns = flows.iter().map(|flow| end_ns(&flow.series)).max()?;
    (end_ns > start_ns).then_some([start_ns, end_ns])
}

fn end_ns(series: &Series) -> i64 {
    let bins = series.bins.iter().rposition(|bin| bin.arrived_bytes > 0).map_or(0, |last| last + 1);
    series.start_ns.saturating_add((bins as i64).saturating_mul(series.bin_ns))
}

fn whole_cells(series: &Series, start_ns: i64, cell_ns: f64, cells: usize) -> Range<usize> {
    let cell_of = |time_ns: i64| time_ns.saturating_sub(start_ns) as f64 / cell_ns;
    let from = (cell_of(series.start_ns).ceil() as usize).min(cells);
    // The last bin was not over.
    let to = cell_of(end_ns(series).saturating_sub(series.bin_ns)).floor().max(0.0) as usize;
    from..to.clamp(from, cells)
}

/// Shares out what lies in bins among cells, by the time that they have in common.
fn spread(series: &Series, start_ns: i64, cell_ns: f64, cells: &mut [f64], of: impl Fn(&Bin) -> f64) {
    let bin_ns = series.bin_ns as f64;
    let first_ns = series.start_ns.saturating_sub(start_ns) as f64;
    for (number, bin) in series.bins.iter().enumerate() {
        let bytes = of(bin);
        let from = (first_ns + number as f64 * bin_ns) / cell_ns;
        let to = from + bin_ns / cell_ns;
        let mut at = from;
        while bytes > 0.0 && at < to {
            let next = (at.floor() + 1.0).min(to);
            if let Some(cell) = cells.get_mut(at.floor().max(0.0) as usize) {
                *cell += bytes * (next - at) / (to - from);
            }
            at = next;
        }
    }
}

/// The sum of these transfers as one series in short bins; the shortest round trip of any is that of all.
pub(crate) fn series(flows: &[&SharingFlow]) -> Option<Series> {
    let [start_ns, end_ns] = span(flows)?;
    let largest = flows.iter().max_by(|one, other| one.bytes.total_cmp(&other.bytes))?;
    let mut bin_ns = largest.series.bin_ns.max(FIRST_BIN_NS);
    while end_ns.saturating_sub(start_ns) / bin_ns >= MOST_BINS as i64 {
        bin_ns = bin_ns.saturating_mul(2);
    }
    let count = usize::try_from(end_ns.saturating_sub(start_ns) / bin_ns).unwrap_or(0) + 1;
    let mut sums = [vec![0.0; count], vec![0.0; count]];
    let mut bins = vec![Bin::default(); count];
    for flow in flows {
        spread(&flow.series, start_ns, bin_ns as f64, &mut sums[0], |bin| f64::from(bin.arrived_bytes));
        spread(&flow.series, start_ns, bin_ns as f64, &mut sums[1], |bin| f64::from(bin.lost_bytes));
        take_loops(flow, start_ns, bin_ns, &mut bins);
    }
    for (bin, (arrived, lost)) in bins.iter_mut().zip(sums[0].iter().zip(&sums[1])) {
        (bin.arrived_bytes, bin.lost_bytes) = (*arrived as u32, *lost as u32);
    }
    Some(Series { start_ns, bin_ns, bins })
}

fn take_loops(flow: &SharingFlow, start_ns: i64, bin_ns: i64, bins: &mut [Bin]) {
    for (number, bin) in flow.series.bins.iter().enumerate() {
        let time_ns = flow.series.start_ns.saturating_add((number as i64).saturating_mul(flow.series.bin_ns));
        let place = usize::try_from(time_ns.saturating_sub(start_ns) / bin_ns).unwrap_or(usize::MAX);
        if let Some(into) = bins.get_mut(place) {
            into.take_loops(bin);
        }
    }
}

/// The share of each bin of `sum` in which at least one member has what `of` says.
pub(crate) fn shares(flows: &[&SharingFlow], sum: &Series, of: impl Fn(&SharingFlow) -> &[f32]) -> Vec<f32> {
    let mut shares = vec![0.0f32; sum.bins.len()];
    for flow in flows {
        let known = of(flow);
        for (number, share) in shares.iter_mut().enumerate() {
            let time_ns = sum.start_ns.saturating_add((number as i64).saturating_mul(sum.bin_ns));
            let since_ns = time_ns.saturating_sub(flow.series.start_ns);
            let place = if since_ns < 0 { None } else { usize::try_from(since_ns / flow.series.bin_ns.max(1)).ok() };
            *share = share.max(place.and_then(|place| known.get(place)).copied().unwrap_or(0.0));
        }
    }
    shares
}

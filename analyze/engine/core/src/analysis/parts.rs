//! Connections that do not fit into memory together are analysed in parts, each with a reading of its own: first all of them, and
//! if they prove too many ([`crate::tcp::flow::memory_budget`]), those of a range of hashes, a range that becomes narrower until they fit.
//! The result is that of a single reading: packets are numbered over all connections, whatever part is taken.

use crate::analysis::failure::Failure;
use crate::analysis::one_point::OnePoint;
use crate::analysis::options::{Observer, Options};
use crate::analysis::part::{ALL, NARROWEST, Part};
use crate::analysis::reading::Reading;
use crate::analysis::results::Analysis;
use crate::analysis::runs::Runs;
use crate::analysis::time_order::Patience;
use crate::analysis::two_clocks;
use crate::read::chunk_source::Input;
use crate::read::merge::open;
use crate::read::read_error::ReadError;
use crate::read::reopen::Reopen;
use crate::tcp::flow::memory_budget::Room;

/// What connections may take together: a million of them, open or not, in less than 1.5 GiB with all else.
const ROOM_BYTES: usize = 1_300_000_000;

/// A part that proves too large is cut into so many.
const PARTS: u64 = 4;

/// A part that leaves so much of the room is followed by one of twice its width.
const SPARSE: usize = 4;

/// As [`crate::analysis::whole::analyze`], of `inputs` that `again` opens once more, as often as it takes to keep to the room of the options.
///
/// # Errors
/// As [`crate::analysis::whole::analyze`], and [`Failure::Read`] if they cannot be opened again.
pub fn analyze_in_parts(
    inputs: Vec<Input>,
    again: &dyn Reopen,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    // To find connections by their numbers all are needed; those that are known are few.
    let is_endless = !options.detail().is_empty();
    let room = if is_endless {
        Room::ANY
    } else {
        Room::of(options.room_bytes.unwrap_or(ROOM_BYTES)).within(options.budget_bytes, true)
    };
    let part = Part::whole(room);
    let inputs_count = inputs.len();
    let mut runs = Runs::by_samples(again, inputs_count, observer);
    let first = if runs.is_empty() { open(inputs) } else { runs.open(again).map_err(unreadable)? };
    let in_parts = (0..inputs_count).any(|input| again.length_bytes(input).is_some());
    let mut patience = if in_parts { Patience::UntilAppended } else { Patience::Little };
    let (mut whole, mut is_overfull) = Reading::of_part(first, options, &part, observer, patience)?;
    patience = Patience::Little;
    if in_parts && whole.has_appended() && !whole.interrupted {
        runs = Runs::of_all(again, inputs_count, observer);
        drop(whole);
        (whole, is_overfull) =
            Reading::of_part(runs.open(again).map_err(unreadable)?, options, &part, observer, patience)?;
    }
    let reopened = || runs.open(again).map_err(unreadable);
    if let Some(step_ns) = whole.too_late_ns().filter(|_| !whole.interrupted) {
        patience = Patience::ForSteps(step_ns);
        if !is_overfull {
            drop(whole);
            (whole, is_overfull) = Reading::of_part(reopened()?, options, &part, observer, patience)?;
        }
    }
    if !is_overfull
        && !whole.interrupted
        && let Some(sample) = whole.second_look()
    {
        // What two points saw lies as it was stored: by times that differ it would be mixed.
        let as_stored = || again.all().map(open).map_err(unreadable);
        if let Some(clocks) = two_clocks::find(sample, &as_stored, observer)? {
            drop(whole);
            let one = Box::new(OnePoint::new(as_stored()?, clocks));
            (whole, is_overfull) = Reading::of_part(one, options, &part, observer, patience)?;
        }
    }
    if !is_overfull {
        return Ok(whole.conclude(options));
    }
    drop(whole);
    part_by_part(room, ALL / PARTS, options, &|part, before| {
        let before_bytes = before.map_or(0, |before| share(before.consumed_bytes, u64::from(*part.hashes.start())));
        let progress = PartProgress { observer, before_bytes, width: part.width() };
        let (reading, is_overfull) = Reading::of_part(reopened()?, options, part, &progress, patience)?;
        Ok((reading.interrupted || !is_overfull).then_some(reading))
    })
}

fn unreadable(error: ReadError) -> Failure {
    Failure::Read(vec![error])
}

/// Reads a part, given those before it; none if it has no room for it.
type ReadPart<'a> = dyn Fn(&Part, Option<&Reading>) -> Result<Option<Reading>, Failure> + 'a;

/// Takes connections in parts, the first of so many hashes. `read` reads a part, given those before it; none if it has no room for
/// it: then narrower ones follow.
pub(super) fn part_by_part(
    room: Room,
    mut width: u64,
    options: &Options,
    read: &ReadPart<'_>,
) -> Result<Analysis, Failure> {
    let mut from = 0;
    let mut together: Option<Reading> = None;
    while from < ALL {
        let results = together.as_ref().map_or(0, |reading| reading.connections.len());
        let part = Part::new(from, width, room.beside(results));
        let Some(reading) = read(&part, together.as_ref())? else {
            width = (width / PARTS).max(NARROWEST);
            continue;
        };
        let (mut is_over, open_bytes) = (reading.interrupted || reading.is_exhausted, reading.open_bytes);
        match &mut together {
            Some(together) => together.add(reading)?,
            nothing => *nothing = Some(reading),
        }
        if let Some(together) = &mut together {
            together.sum_up(&room);
            together.is_exhausted |= room.is_exhausted_by(together.connections.len());
            together.interrupted |= together.is_exhausted;
            is_over |= together.is_exhausted;
        }
        if is_over {
            break;
        }
        from += width;
        if open_bytes.saturating_mul(SPARSE) < part.room.open_bytes(0) {
            width = (2 * width).min(ALL);
        }
    }
    Ok(together.map(|reading| reading.conclude(options)).unwrap_or_default())
}

/// Tells of the reading for one part as of so much of a single reading.
struct PartProgress<'a> {
    observer: &'a dyn Observer,
    /// What the parts before stand for.
    before_bytes: u64,
    width: u64,
}

impl Observer for PartProgress<'_> {
    fn progress(&self, consumed_bytes: u64) -> bool {
        self.observer.progress(self.before_bytes.saturating_add(share(consumed_bytes, self.width)))
    }
}

/// So many bytes for all hashes are so many for some of them.
fn share(bytes: u64, hashes: u64) -> u64 {
    (u128::from(bytes) * u128::from(hashes) / u128::from(ALL)) as u64
}

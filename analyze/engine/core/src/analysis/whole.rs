//! All inputs in one reading, whatever memory it takes. `parts` is the way that keeps to a bound.

use crate::analysis::failure::Failure;
use crate::analysis::options::{Observer, Options};
use crate::analysis::part::Part;
use crate::analysis::reading::Reading;
use crate::analysis::results::Analysis;
use crate::analysis::time_order::Patience;
use crate::read::chunk_source::{ChunkSource, Input};
use crate::read::merge::open;
use crate::tcp::flow::memory_budget::Room;

/// Reads and analyses `inputs` as one capture.
///
/// # Errors
/// [`Failure`] if no input could be read, or the filter is wrong. Damage within a file is no error.
pub fn analyze(inputs: Vec<Input>, options: &Options, observer: &dyn Observer) -> Result<Analysis, Failure> {
    analyze_source(open(inputs), options, observer)
}

/// As [`analyze`], from a source that is already open.
///
/// # Errors
/// As [`analyze`].
pub fn analyze_source(
    source: Box<dyn ChunkSource>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Analysis, Failure> {
    let room = Room::ANY.within(options.budget_bytes, false);
    Reading::of_part(source, options, &Part::whole(room), observer, Patience::Once)
        .map(|(reading, _)| reading.conclude(options))
}

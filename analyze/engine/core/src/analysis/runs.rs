//! Captures that stand one behind the other in one file though their times overlap (`mergecap -a`, `cat`), read beside each other in
//! order of time. Owns which input is read how; [`crate::analysis::run_search`] finds where each capture begins.
//!
//! Samples of a large file show most of them before its first packet is read. What they do not show, the first reading does
//! ([`crate::analysis::time_order`]): it is given up there, and begun again.

use crate::analysis::options::Observer;
use crate::analysis::run_search::{AppendedCapture, MOST_RUNS, is_likely, parts_of, search};
use crate::read::chunk_source::ChunkSource;
use crate::read::file_source::FileSource;
use crate::read::merge::{MergedSource, open};
use crate::read::read_error::ReadError;
use crate::read::reopen::Reopen;

/// The captures in each input; none in one that is a single capture, or cannot be read in parts.
#[derive(Default)]
pub(crate) struct Runs(Vec<Vec<AppendedCapture>>);

impl Runs {
    /// Those of inputs whose samples show them.
    pub(crate) fn by_samples(again: &dyn Reopen, inputs: usize, observer: &dyn Observer) -> Self {
        Self::of(again, inputs, observer, &|input| is_likely(again, input))
    }

    /// Those of all inputs.
    pub(crate) fn of_all(again: &dyn Reopen, inputs: usize, observer: &dyn Observer) -> Self {
        Self::of(again, inputs, observer, &|_| true)
    }

    fn of(again: &dyn Reopen, inputs: usize, observer: &dyn Observer, looked_at: &dyn Fn(usize) -> bool) -> Self {
        let mut room = MOST_RUNS;
        let runs = (0..inputs).map(|input| {
            let runs = if looked_at(input) { search(again, input, observer).unwrap_or_default() } else { Vec::new() };
            if runs.len() > room {
                return Vec::new();
            }
            room -= runs.len();
            runs
        });
        Self(runs.collect())
    }

    /// Each input is one capture, as far as is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// All inputs from their beginnings.
    pub(crate) fn open(&self, again: &dyn Reopen) -> Result<Box<dyn ChunkSource>, ReadError> {
        let inputs = again.all()?;
        if self.is_empty() {
            return Ok(open(inputs));
        }
        let mut sources = Vec::new();
        for (number, whole) in (0..=u16::MAX).zip(inputs) {
            let runs = self.0.get(usize::from(number)).map_or(&[][..], Vec::as_slice);
            let in_runs: Option<Vec<FileSource>> = runs.iter().map(|run| run.open(again, number)).collect();
            match in_runs {
                Some(in_runs) if !in_runs.is_empty() => sources.extend(in_runs),
                _ => sources.push(FileSource::new(whole, number)),
            }
        }
        Ok(Box::new(MergedSource::of_sources(sources.into_iter())))
    }
}

impl AppendedCapture {
    fn open(&self, again: &dyn Reopen, input: u16) -> Option<FileSource> {
        let reader = parts_of(again, usize::from(input), &[self.heads.as_slice(), &[self.part]].concat())?;
        Some(FileSource::of_run(reader, input, &self.heads, self.part))
    }
}

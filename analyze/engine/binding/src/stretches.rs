//! The second reading of a capture that has an index: the packets of connections, from the stretches that hold them.

use std::sync::Arc;

use pyo3::prelude::*;
use vmtrace_core::analysis::Options;
use vmtrace_core::analysis::indexed::{self, Stretches};
use vmtrace_core::read::InputPart;

use crate::input::Input;
use crate::result::Analysis;
use crate::run::{Watch, finished, on_own_thread};

/// A stretch: offset, length, number of its first frame, TCP packets of the input before it.
type Stretch = (u64, u64, u32, u64);

/// An input with its number, the TCP packets of all inputs before it, and what is read of it.
type Indexed = (Input, u16, u64, Vec<Stretch>);

/// Reads the packets of `connections`, which `measured_before` has found, from stretches of their inputs. These follow each other in
/// time; the first stretch of each is its beginning.
#[pyfunction]
#[pyo3(signature = (inputs, connections, measured_before, *, oversize_abs_ns = None, progress = None))]
pub fn analyze_stretches(
    py: Python<'_>,
    inputs: Vec<Indexed>,
    connections: Vec<u32>,
    measured_before: Py<Analysis>,
    oversize_abs_ns: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Analysis> {
    let watch = Arc::new(Watch::default());
    let names: Vec<String> = inputs.iter().map(|(input, ..)| input.name()).collect();
    let (known_connections, _) = measured_before.get().inner.known(&connections, 0..u16::MAX);
    let options = Options { known_connections, oversize_abs_ns, ..Options::default() };
    let opened = inputs.iter().map(opened).collect::<PyResult<Vec<_>>>()?;
    let observed = Arc::clone(&watch);
    let work = move || indexed::packets_of_stretches(opened, &options, &*observed);
    finished(py, on_own_thread(py, &watch, progress.as_ref(), work)?, &names)
}

fn opened((input, number, first_place, stretches): &Indexed) -> PyResult<Stretches> {
    let ranges: Vec<(u64, u64)> = stretches.iter().map(|&(offset, length, ..)| (offset, length)).collect();
    let of = |&(offset, length, frame, before): &Stretch| (InputPart { offset, length, frame }, before);
    let parts = stretches.iter().map(of).collect();
    Ok(Stretches { reader: input.open_ranges(ranges)?, input: *number, first_place: *first_place, parts })
}

//! The Python face of the engine: module `vmtrace.analyze._engine`. Converts arguments, releases the GIL, maps errors.
//!
//! Everything that measures is in `vmtrace-core`; everything that opens files for writing, prints or draws is Python.

mod allocator;
mod columns;
mod errors;
mod feed;
mod files;
mod following;
mod input;
mod live;
mod memory;
mod result;
mod run;
mod slices;
mod stream;
mod stretches;
mod words;
mod writer;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::columns::Columns;
    #[pymodule_export]
    use super::errors::TraceError;
    #[pymodule_export]
    use super::live::Live;
    #[pymodule_export]
    use super::result::Analysis;
    #[pymodule_export]
    use super::run::{FirstFrames, analyze, holds_secrets, shared_frames};
    #[pymodule_export]
    use super::slices::{analyze_slices, beyond, merge_buckets, split};
    #[pymodule_export]
    use super::stretches::analyze_stretches;
    #[pymodule_export]
    use super::words::{factor_labels, factors, fields};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}

//! The Python face of the engine: module `analyze._engine`. Converts arguments, releases the GIL, maps errors.
//!
//! Everything that measures is in `vmtrace-core`; everything that opens files for writing, prints or draws is Python.

mod columns;
mod combine;
mod errors;
mod input;
mod result;
mod run;
mod writer;

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::columns::Columns;
    #[pymodule_export]
    use super::errors::TraceError;
    #[pymodule_export]
    use super::result::Analysis;
    #[pymodule_export]
    use super::run::{analyze, shared_frames};
}

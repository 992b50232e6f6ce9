//! A finished analysis as Python sees it: JSON through a callable, tables as [`Columns`].

use std::io::{BufWriter, Write};

use pyo3::prelude::*;
use vmtrace_core::analysis::{self, JsonHeader};

use crate::columns::Columns;
use crate::writer::PythonWriter;

/// Large enough that taking the GIL for each buffer costs nothing beside making its contents.
const BUFFER_BYTES: usize = 1 << 20;

/// What one run of the engine measured.
#[pyclass(frozen, module = "analyze._engine")]
pub struct Analysis {
    inner: analysis::Analysis,
    errors: Vec<PyErr>,
}

impl Analysis {
    /// Wraps the engine's result.
    pub fn new(result: analysis::Analysis, errors: Vec<PyErr>) -> Self {
        Self { inner: result, errors }
    }
}

#[pymethods]
impl Analysis {
    /// True if the reading was stopped before the end of the inputs.
    #[getter]
    fn interrupted(&self) -> bool {
        self.inner.interrupted
    }

    /// What was wrong with inputs that could not be read, as exceptions.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.errors.iter().map(|error| error.value(py).clone().into_any().unbind()).collect()
    }

    /// Writes the JSON document `vmtrace.analysis/1` by calling `write` with consecutive pieces of it.
    #[pyo3(signature = (write, *, vmtrace_version, input_paths, pretty = false))]
    fn write_json(
        &self,
        py: Python<'_>,
        write: Py<PyAny>,
        vmtrace_version: String,
        input_paths: Vec<String>,
        pretty: bool,
    ) -> PyResult<()> {
        let header = JsonHeader { vmtrace_version, input_paths, pretty };
        py.detach(|| {
            let mut out = BufWriter::with_capacity(BUFFER_BYTES, PythonWriter::new(write));
            self.inner.write_json(&mut out, &header)?;
            out.flush()
        })?;
        Ok(())
    }

    /// One row for each connection; columns are named by the JSON path joined with `_`.
    fn connections(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(self.inner.connection_columns()))
    }

    /// One row for each packet of the connections asked for by `detail_connections`.
    fn packets(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(self.inner.packet_columns()))
    }

    /// One row for each second of the capture, with its SYNs and their fate.
    fn syns(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(self.inner.syn_columns()))
    }
}

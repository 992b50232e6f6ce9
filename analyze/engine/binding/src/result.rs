//! A finished analysis as Python sees it: JSON through a callable, tables as [`Columns`].

use pyo3::prelude::*;
use vmtrace_core::analysis;
use vmtrace_core::output::json::JsonHeader;

use crate::columns::Columns;
use crate::writer::PythonWriter;

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
    ///
    /// With `only_connection` the document holds no connection but the one of that number.
    #[pyo3(signature = (write, *, vmtrace_version, input_paths, only_connection = None))]
    fn write_json(
        &self,
        py: Python<'_>,
        write: Py<PyAny>,
        vmtrace_version: String,
        input_paths: Vec<String>,
        only_connection: Option<u32>,
    ) -> PyResult<()> {
        let header = JsonHeader { vmtrace_version, input_paths, only_connection };
        Ok(py.detach(|| self.inner.write_json(&mut PythonWriter::new(write), &header))?)
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

//! A Python `write` callable as [`std::io::Write`]: files, pipes and memory stay Python's business.

use std::io;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Calls a Python callable with every piece written. Give it large pieces: each one takes the GIL.
pub struct PythonWriter {
    write: Py<PyAny>,
}

impl PythonWriter {
    /// Wraps a callable that takes `bytes` and writes all of them.
    pub fn new(write: Py<PyAny>) -> Self {
        Self { write }
    }
}

impl io::Write for PythonWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A Python exception travels inside the io::Error and comes out of it unchanged.
        Python::attach(|py| self.write.call1(py, (PyBytes::new(py, bytes),)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

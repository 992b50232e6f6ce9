//! One input as Python names it: a path, `-` for standard input, or the bytes of a capture themselves.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::system_error;

/// A path or a capture's bytes.
#[derive(FromPyObject)]
pub enum Input {
    /// The capture itself, already in memory.
    Bytes(PyBackedBytes),
    /// Where the capture lies; `-` is standard input.
    Path(PathBuf),
}

impl Input {
    /// The name that errors give to this input.
    pub fn name(&self) -> String {
        match self {
            Self::Bytes(_) => "<bytes>".to_owned(),
            Self::Path(path) if path.as_os_str() == "-" => "<stdin>".to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }

    /// Opens the input for reading.
    ///
    /// # Errors
    /// The built-in Python class for what the system refused.
    pub fn open(self) -> PyResult<Box<dyn Read + Send>> {
        let name = self.name();
        Ok(match self {
            Self::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            Self::Path(path) if path.as_os_str() == "-" => Box::new(std::io::stdin()),
            Self::Path(path) => Box::new(File::open(path).map_err(|error| system_error(&error, &name))?),
        })
    }
}

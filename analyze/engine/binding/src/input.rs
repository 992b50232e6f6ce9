//! One input as Python names it: a path, `-` for standard input, or the bytes of a capture themselves.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::system_error;

/// A path or a capture's bytes.
#[derive(FromPyObject)]
pub enum Input {
    /// The capture itself, already in memory.
    Bytes(#[pyo3(from_py_with = shared)] Arc<PyBackedBytes>),
    /// Where the capture lies; `-` is standard input.
    Path(PathBuf),
}

fn shared(object: &Bound<'_, PyAny>) -> PyResult<Arc<PyBackedBytes>> {
    Ok(Arc::new(object.extract()?))
}

/// Bytes that several readers read.
struct Shared(Arc<PyBackedBytes>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
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

    /// It gives the same whenever it is opened.
    pub fn can_be_read_again(&self) -> bool {
        match self {
            Self::Bytes(_) => true,
            Self::Path(path) => path.as_os_str() != "-" && path.is_file(),
        }
    }

    /// Opens the input for reading.
    ///
    /// # Errors
    /// The built-in Python class for what the system refused.
    pub fn open(&self) -> PyResult<Box<dyn Read + Send>> {
        let name = self.name();
        Ok(match self {
            Self::Bytes(bytes) => Box::new(Cursor::new(Shared(Arc::clone(bytes)))),
            Self::Path(path) if path.as_os_str() == "-" => Box::new(std::io::stdin()),
            Self::Path(path) => Box::new(File::open(path).map_err(|error| system_error(&error, &name))?),
        })
    }
}

//! One input as Python names it: a path, `-` for standard input, or the bytes of a capture themselves.

use std::io::{self, Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors::system_error;
use crate::feed::Feed;
use crate::files::{Files, RangesOfFile};
use crate::stream::Stream;

/// An input, and what errors call it.
#[derive(FromPyObject)]
pub enum Input {
    /// `(input, name)`
    Named(Source, String),
    /// What has a name by itself.
    Plain(Source),
}

/// A path or a capture's bytes.
#[derive(FromPyObject)]
pub enum Source {
    /// The capture itself, already in memory.
    Bytes(#[pyo3(from_py_with = shared)] Arc<PyBackedBytes>),
    /// Where the capture lies; `-` is standard input.
    Path(PathBuf),
    /// What Python reads itself: each `open()` of it gives an object whose `read()` gives the next bytes, none at the end.
    Feed(#[pyo3(from_py_with = feed)] Arc<Py<PyAny>>),
}

fn shared(object: &Bound<'_, PyAny>) -> PyResult<Arc<PyBackedBytes>> {
    Ok(Arc::new(object.extract()?))
}

fn feed(object: &Bound<'_, PyAny>) -> PyResult<Arc<Py<PyAny>>> {
    object.getattr("open")?;
    Ok(Arc::new(object.clone().unbind()))
}

/// Bytes that several readers read.
struct Shared(Arc<PyBackedBytes>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Input {
    fn source(&self) -> &Source {
        match self {
            Self::Named(source, _) | Self::Plain(source) => source,
        }
    }

    /// What errors call it.
    pub fn name(&self) -> String {
        match self {
            Self::Named(_, name) => name.clone(),
            Self::Plain(Source::Bytes(_)) => "<bytes>".to_owned(),
            Self::Plain(Source::Path(path)) => path.display().to_string(),
            Self::Plain(Source::Feed(_)) => "<stream>".to_owned(),
        }
    }

    /// It gives the same whenever it is opened.
    pub fn can_be_read_again(&self) -> bool {
        match self.source() {
            Source::Bytes(_) | Source::Feed(_) => true,
            Source::Path(path) => path.as_os_str() != "-" && path.is_file(),
        }
    }

    /// How long it is, if parts of it are read as cheaply as the whole.
    pub fn length_bytes(&self) -> Option<u64> {
        match self.source() {
            Source::Bytes(bytes) => Some(bytes.len() as u64),
            Source::Path(path) if self.can_be_read_again() => path.metadata().map(|metadata| metadata.len()).ok(),
            Source::Path(_) | Source::Feed(_) => None,
        }
    }

    /// Opens parts of the input (offset, length), one behind the other.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn open_ranges(&self, ranges: Vec<(u64, u64)>) -> PyResult<Box<dyn Read + Send>> {
        match self.source() {
            Source::Bytes(bytes) => {
                let range = |&(offset, length): &(u64, u64)| bytes.get(offset as usize..(offset + length) as usize);
                Ok(Box::new(Cursor::new(ranges.iter().filter_map(range).collect::<Vec<_>>().concat())))
            }
            Source::Feed(object) => Python::attach(|py| Ok(Box::new(Feed::open_ranges(object.bind(py), ranges)?) as _)),
            Source::Path(path) => {
                let opened = RangesOfFile::open(path, ranges).map(|file| Box::new(file) as _);
                opened.map_err(|error| system_error(&error, &self.name()))
            }
        }
    }

    /// Opens the input for reading. `stop` ends the reading of what may never end by itself; a file is one of
    /// `files`.
    ///
    /// # Errors
    /// The built-in Python class for what the system refused.
    pub fn open(&self, stop: &Arc<AtomicBool>, files: &Arc<Files>) -> PyResult<Box<dyn Read + Send>> {
        let path = match self.source() {
            Source::Bytes(bytes) => return Ok(Box::new(Cursor::new(Shared(Arc::clone(bytes))))),
            Source::Feed(object) => return Python::attach(|py| Ok(Box::new(Feed::open(object.bind(py))?) as _)),
            Source::Path(path) => path,
        };
        // A file, and what is not there, are opened as they are; a folder cannot be read, which is said then.
        let opened: io::Result<Box<dyn Read + Send>> = if path.as_os_str() == "-" {
            Stream::standard_input(Arc::clone(stop)).map(|stream| Box::new(stream) as _)
        } else if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            Stream::open(path, Arc::clone(stop)).map(|stream| Box::new(stream) as _)
        } else {
            files.open(path).map(|file| Box::new(file) as _)
        };
        opened.map_err(|error| system_error(&error, &self.name()))
    }
}

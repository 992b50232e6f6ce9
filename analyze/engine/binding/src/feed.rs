//! What Python reads itself (an object in a store) as [`std::io::Read`]: large pieces, each copied once while the GIL is held.

use std::io::{self, Read};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// A reader of Python's, with the piece in hand.
pub struct Feed {
    reader: Py<PyAny>,
    piece: Vec<u8>,
    at: usize,
}

impl Feed {
    /// Opens the object from its beginning. Nothing is read yet.
    ///
    /// # Errors
    /// What its `open` raises.
    pub fn open(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { reader: object.call_method0("open")?.unbind(), piece: Vec::new(), at: 0 })
    }

    /// Opens parts of the object, one behind the other.
    ///
    /// # Errors
    /// What its `open_ranges` raises.
    pub fn open_ranges(object: &Bound<'_, PyAny>, ranges: Vec<(u64, u64)>) -> PyResult<Self> {
        let reader = object.call_method1("open_ranges", (ranges,))?.unbind();
        Ok(Self { reader, piece: Vec::new(), at: 0 })
    }

    /// Gets the next piece; empty at the end.
    fn next_piece(&mut self) -> io::Result<()> {
        (self.piece, self.at) = Python::attach(|py| {
            let next = || -> PyResult<Vec<u8>> {
                let bytes = self.reader.bind(py).call_method0("read")?;
                PyBuffer::<u8>::get(&bytes)?.to_vec(py)
            };
            // One line that names the trouble, as those of the system do.
            next().map_err(|error| io::Error::other(error.value(py).to_string()))
        })
        .map(|piece| (piece, 0))?;
        Ok(())
    }
}

impl Read for Feed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            self.next_piece()?;
        }
        let count = self.piece.get(self.at..).map_or(Ok(0), |mut rest| rest.read(buffer))?;
        self.at += count;
        Ok(count)
    }
}

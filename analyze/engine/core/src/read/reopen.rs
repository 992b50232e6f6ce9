//! The contract of whoever opened the inputs, to open them once more: the engine itself knows no files.

use crate::read::chunk_source::Input;
use crate::read::read_error::ReadError;

/// Inputs that give the same whenever they are opened.
pub trait Reopen {
    /// All of them from their beginnings.
    ///
    /// # Errors
    /// One that cannot be opened any more.
    fn all(&self) -> Result<Vec<Input>, ReadError>;

    /// How many bytes an input has, if parts of it can be read by themselves without reading what is before them.
    fn length_bytes(&self, _input: usize) -> Option<u64> {
        None
    }

    /// Parts of an input (offset, length), one behind the other; none where that cannot be.
    fn ranges(&self, _input: usize, _ranges: &[(u64, u64)]) -> Option<Input> {
        None
    }
}

impl<F: Fn() -> Result<Vec<Input>, ReadError>> Reopen for F {
    fn all(&self) -> Result<Vec<Input>, ReadError> {
        self()
    }
}

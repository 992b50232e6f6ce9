//! The contract of whatever yields chunks: one file, several merged, a source with corrected times.

use std::io::Read;

use crate::read::input_facts::InputFacts;
use crate::read::read_error::ReadError;
use crate::read::record::Chunk;

/// An input as the caller opened it: a file, standard input, bytes in memory. One that is still written says
/// [`std::io::ErrorKind::WouldBlock`] while nothing is there.
pub type Input = Box<dyn Read + Send>;

/// Something that yields chunks until its end.
pub trait ChunkSource: Send {
    /// Replaces the contents of `chunk` by the next batch; `false` at the end (the chunk is then empty). An empty one that is not the
    /// end says that nothing is there just now. Hand the last chunk back as it is: bytes that are not cleared need not be zeroed again.
    ///
    /// # Errors
    /// [`ReadError`] when an input cannot be read at all; damage within it is skipped and recorded instead.
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError>;

    /// Facts about the inputs so far, one entry per input; complete at the end.
    fn inputs(&self) -> Vec<InputFacts>;

    /// Bytes of key logs that the inputs held so far.
    fn key_log_bytes(&self) -> usize {
        0
    }

    /// A copy of what was read and waits to be given out, as a source of its own that ends behind it; none if nothing waits.
    fn waiting(&self) -> Option<Box<dyn ChunkSource>> {
        None
    }

    /// Bytes consumed so far of the files as they lie on disk (compressed), for progress.
    fn consumed_bytes(&self) -> u64;
}

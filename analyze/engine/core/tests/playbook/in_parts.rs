//! Files in memory that are opened as often as it takes, in parts too, as files on a disk are. Counts what is read of them.

use std::io::{Cursor, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze_in_parts};
use vmtrace_core::read::{Input, ReadError, Reopen};

/// See the module.
pub struct InParts {
    files: Vec<Vec<u8>>,
    read: Arc<AtomicU64>,
}

struct Counted(Cursor<Vec<u8>>, Arc<AtomicU64>);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl InParts {
    pub fn new(files: &[Vec<u8>]) -> Self {
        Self { files: files.to_vec(), read: Arc::default() }
    }

    pub fn analysis(&self, options: &Options) -> Analysis {
        analyze_in_parts(self.all().unwrap(), self, options, &NoObserver).unwrap()
    }

    /// How often each byte was read.
    pub fn times_read(&self) -> f64 {
        let bytes: usize = self.files.iter().map(Vec::len).sum();
        self.read.load(Ordering::Relaxed) as f64 / bytes as f64
    }

    fn input(&self, bytes: Vec<u8>) -> Input {
        Box::new(Counted(Cursor::new(bytes), Arc::clone(&self.read)))
    }
}

impl Reopen for InParts {
    fn all(&self) -> std::result::Result<Vec<Input>, ReadError> {
        Ok(self.files.iter().map(|file| self.input(file.clone())).collect())
    }

    fn length_bytes(&self, input: usize) -> Option<u64> {
        Some(self.files[input].len() as u64)
    }

    fn ranges(&self, input: usize, ranges: &[(u64, u64)]) -> Option<Input> {
        let file = &self.files[input];
        let range =
            |&(offset, length): &(u64, u64)| &file[offset as usize..(offset + length).min(file.len() as u64) as usize];
        Some(self.input(ranges.iter().map(range).collect::<Vec<_>>().concat()))
    }
}

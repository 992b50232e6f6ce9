//! What is written while it is read: a pipe, or a file that grows. Says [`io::ErrorKind::WouldBlock`] while nothing is there, so that
//! whoever reads can do something else meanwhile.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::stream::Stream;

/// How long to wait for more of a file: below what a person notices.
const PATIENCE: Duration = Duration::from_millis(50);

/// After a read that gave little, so long is waited for more to come together: each packet by itself would cost several times as much.
const GATHERING: Duration = Duration::from_millis(5);

/// A read that gave less than this gave little.
const LITTLE_BYTES: usize = 32 << 10;

enum Source {
    Pipe(Stream),
    /// And how much of it was read.
    File(File, u64),
}

/// See the module.
pub struct Following {
    source: Source,
    stop: Arc<AtomicBool>,
    gave_little: bool,
    idle: Option<Duration>,
    last: Instant,
}

impl Following {
    /// A path, or `-` for standard input. Where nothing came for `idle`, it ends.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &str, idle: Option<Duration>, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let named = Path::new(path);
        let source = if path == "-" {
            Source::Pipe(Stream::standard_input(Arc::clone(&stop))?.without_waiting())
        } else if named.metadata()?.is_file() {
            Source::File(File::open(named)?, 0)
        } else {
            Source::Pipe(Stream::open(named, Arc::clone(&stop))?.without_waiting())
        };
        Ok(Self { source, stop, gave_little: false, idle, last: Instant::now() })
    }

    fn more(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, place) = match &mut self.source {
            Source::Pipe(stream) => return stream.read(buffer),
            Source::File(file, place) => (file, place),
        };
        let count = file.read(buffer)?;
        *place += count as u64;
        if count > 0 || self.stop.load(Ordering::Relaxed) {
            return Ok(count);
        }
        if file.metadata()?.size() < *place {
            return Err(io::Error::other("it was cut short while it was read"));
        }
        std::thread::sleep(PATIENCE);
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Read for Following {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.gave_little && !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(GATHERING);
        }
        let result = self.more(buffer);
        match &result {
            Ok(count) => {
                self.last = Instant::now();
                self.gave_little = *count < LITTLE_BYTES.min(buffer.len());
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {}
            Err(_) if self.idle.is_some_and(|idle| self.last.elapsed() >= idle) => return Ok(0),
            Err(_) => self.gave_little = false,
        }
        result
    }
}

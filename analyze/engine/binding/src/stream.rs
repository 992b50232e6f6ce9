//! What can be read only once (standard input, a pipe, a device) as a reader that Ctrl-C ends.
//!
//! Nothing need ever come out of a pipe, and a read of it waits for that: so it is only read when something is there, and
//! whether to stop is looked at in between. Stopped, it ends as if the pipe had been closed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// How long a read waits before it looks whether to stop: below what a person notices.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A stream and the flag that ends it.
pub struct Stream {
    file: File,
    stop: Arc<AtomicBool>,
    waits: bool,
}

impl Stream {
    /// Standard input.
    ///
    /// # Errors
    /// It is closed.
    pub fn standard_input(stop: Arc<AtomicBool>) -> io::Result<Self> {
        Ok(Self { file: io::stdin().as_fd().try_clone_to_owned()?.into(), stop, waits: true })
    }

    /// A pipe or a device. To open a named pipe does not wait for one who writes: reading does.
    ///
    /// # Errors
    /// The system's, of opening it.
    pub fn open(path: &Path, stop: Arc<AtomicBool>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        Ok(Self { file: rustix::fs::open(path, flags, Mode::empty())?.into(), stop, waits: true })
    }

    /// The same that says [`io::ErrorKind::WouldBlock`] when nothing came for a while.
    pub fn without_waiting(self) -> Self {
        Self { waits: false, ..self }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(0);
            }
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PATIENCE)) {
                Ok(0) | Err(Errno::INTR) if self.waits => continue,
                Ok(0) | Err(Errno::INTR) => return Err(io::ErrorKind::WouldBlock.into()),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match self.file.read(buffer) {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                result => return result,
            }
        }
    }
}

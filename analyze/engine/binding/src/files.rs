//! Files that are read as parts of one capture: of thousands only a few are open at a time, since a process may not have more
//! open than its limit says, a thousand on most systems.
//!
//! The reader asks each file for its beginning first, and for the rest when its time has come. Whichever was opened longest ago is closed
//! for the next one, and opened again where it is read once more.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files open at a time: more than interfaces that are recorded at once, far fewer than any limit.
const MOST_OPEN: usize = 64;

type Place = Mutex<Option<File>>;

/// The files that are open, the first opened first.
#[derive(Default)]
pub struct Files {
    open: Mutex<VecDeque<Arc<Place>>>,
}

/// A file for reading, open or not.
pub struct PartFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    offset: u64,
    place: Arc<Place>,
    files: Arc<Files>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Files {
    /// Opens a file, and closes another if there are many.
    ///
    /// # Errors
    /// The system's.
    pub fn open(self: &Arc<Self>, path: &Path) -> io::Result<PartFile> {
        let file = File::open(path)?;
        let identity = identity(&file)?;
        let place = Arc::new(Place::new(Some(file)));
        self.make_room_for(&place);
        Ok(PartFile { path: path.to_owned(), identity, offset: 0, place, files: Arc::clone(self) })
    }

    fn make_room_for(&self, place: &Arc<Place>) {
        let mut open = lock(&self.open);
        open.push_back(Arc::clone(place));
        while open.len() > MOST_OPEN {
            // One that is being read just now stays open, and nobody waits for it.
            if let Some(oldest) = open.pop_front()
                && let Ok(mut file) = oldest.try_lock()
            {
                *file = None;
            }
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    file.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
}

impl PartFile {
    fn opened_again(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        if identity(&file)? != self.identity {
            return Err(io::Error::other("it was replaced while it was read: analyse a copy of it"));
        }
        Ok(file)
    }
}

impl Read for PartFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut place = lock(&self.place);
        let file = match &mut *place {
            Some(file) => file,
            closed => {
                let file = closed.insert(self.opened_again()?);
                self.files.make_room_for(&self.place);
                file
            }
        };
        let count = file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Parts of a file, one behind the other.
pub struct RangesOfFile {
    file: File,
    /// Offset and length of the next ones, the last one first.
    ranges: Vec<(u64, u64)>,
}

impl RangesOfFile {
    /// Opens a file to read these parts of it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path, mut ranges: Vec<(u64, u64)>) -> io::Result<Self> {
        ranges.reverse();
        Ok(Self { file: File::open(path)?, ranges })
    }
}

impl Read for RangesOfFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.ranges.last().is_some_and(|(_, length)| *length == 0) {
            self.ranges.pop();
        }
        let Some((offset, length)) = self.ranges.last_mut() else { return Ok(0) };
        let most = usize::try_from(*length).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(&mut buffer[..most], *offset)?;
        if count == 0 && most > 0 {
            return Err(io::Error::other("it was cut while it was read: analyse a copy of it"));
        }
        *offset += count as u64;
        *length -= count as u64;
        Ok(count)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("vmtrace-files-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder for the test");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn number_open(files: &Files, parts: &[PartFile]) -> usize {
        assert!(lock(&files.open).len() <= MOST_OPEN);
        parts.iter().filter(|part| lock(&part.place).is_some()).count()
    }

    #[test]
    fn of_many_files_few_are_open_and_each_is_read_on_where_it_was() {
        let folder = Folder::new("many");
        let files = Arc::new(Files::default());
        let mut parts: Vec<PartFile> = (0..3 * MOST_OPEN)
            .map(|number| {
                let path = folder.0.join(number.to_string());
                fs::write(&path, format!("begin {number:04} end")).expect("written");
                files.open(&path).expect("opened")
            })
            .collect();
        assert_eq!(number_open(&files, &parts), MOST_OPEN);
        for part in &mut parts {
            let mut begin = [0; 6];
            part.read_exact(&mut begin).expect("read");
            assert_eq!(&begin, b"begin ");
        }
        for (number, part) in parts.iter_mut().enumerate() {
            let mut rest = String::new();
            part.read_to_string(&mut rest).expect("read");
            assert_eq!(rest, format!("{number:04} end"));
        }
        assert_eq!(number_open(&files, &parts), MOST_OPEN);
    }

    #[test]
    fn a_file_that_was_replaced_meanwhile_is_not_read_on() {
        let folder = Folder::new("replaced");
        let files = Arc::new(Files::default());
        let path = folder.0.join("first");
        fs::write(&path, "first").expect("written");
        let mut part = files.open(&path).expect("opened");
        *lock(&part.place) = None;
        fs::write(folder.0.join("other"), "other").expect("written");
        fs::rename(folder.0.join("other"), &path).expect("renamed");
        let error = part.read(&mut [0; 5]).expect_err("another file");
        assert!(error.to_string().contains("replaced"), "{error}");
    }
}

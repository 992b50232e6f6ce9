//! Analyses a capture without Python: `cargo run --release --example analyze -- FILE [THREADS [ROOM_BYTES]]`, JSON on standard output;
//! on Linux the peak of memory on standard error.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write, stdout};
use std::os::fd::AsFd;
use std::path::PathBuf;

use vmtrace_core::analysis::{NoObserver, Options, analyze_in_parts};
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::read::{Input, ReadError, Reopen};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A file that is opened as often as it takes, in parts too.
struct OfFile {
    path: PathBuf,
}

impl Reopen for OfFile {
    fn all(&self) -> Result<Vec<Input>, ReadError> {
        match File::open(&self.path) {
            Ok(file) => Ok(vec![Box::new(file)]),
            Err(source) => Err(ReadError::Io { input: 0, source }),
        }
    }

    fn length_bytes(&self, _input: usize) -> Option<u64> {
        self.path.metadata().map(|metadata| metadata.len()).ok()
    }

    fn ranges(&self, _input: usize, ranges: &[(u64, u64)]) -> Option<Input> {
        let mut all: Input = Box::new(std::io::empty());
        for &(offset, length) in ranges {
            let mut file = File::open(&self.path).ok()?;
            file.seek(SeekFrom::Start(offset)).ok()?;
            all = Box::new(all.chain(file.take(length)));
        }
        Some(all)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("usage: analyze FILE [THREADS [ROOM_BYTES]]")?;
    let threads = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let room_bytes = arguments.get(3).map(|text| text.parse()).transpose()?;
    let options = Options { threads, room_bytes, ..Options::default() };
    let file = OfFile { path: path.into() };
    let analysis = analyze_in_parts(file.all()?, &file, &options, &NoObserver)?;
    let header = JsonHeader { input_paths: vec![path.clone()], ..JsonHeader::default() };
    // As a file: standard output looks for the end of each line.
    let mut out = BufWriter::new(File::from(stdout().as_fd().try_clone_to_owned()?));
    analysis.write_json(&mut out, &header)?;
    out.flush()?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| eprintln!("{line}"));
    Ok(())
}

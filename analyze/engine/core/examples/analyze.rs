//! Analyses a capture without Python: `cargo run --release --example analyze -- FILE [THREADS [ROOM_BYTES]]`, JSON on standard output;
//! on Linux the peak of memory on standard error.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};

use vmtrace_core::analysis::{NoObserver, Options, analyze_in_parts};
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::read::{Input, ReadError};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("usage: analyze FILE [THREADS [ROOM_BYTES]]")?;
    let threads = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let room_bytes = arguments.get(3).map(|text| text.parse()).transpose()?;
    let options = Options { threads, room_bytes, ..Options::default() };
    let again = || match File::open(path) {
        Ok(file) => Ok(vec![Box::new(file) as Input]),
        Err(source) => Err(ReadError::Io { input: 0, source }),
    };
    let analysis = analyze_in_parts(again()?, &again, &options, &NoObserver)?;
    let header = JsonHeader { input_paths: vec![path.clone()], ..JsonHeader::default() };
    let mut out = BufWriter::new(stdout().lock());
    analysis.write_json(&mut out, &header)?;
    out.flush()?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| eprintln!("{line}"));
    Ok(())
}

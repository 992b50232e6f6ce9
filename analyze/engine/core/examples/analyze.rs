//! Analyses a capture without Python: `cargo run --release --example analyze -- FILE [THREADS]`, JSON on standard output.

use std::fs::File;
use std::io::{BufWriter, Write, stdout};

use vmtrace_core::analysis::{NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let path = arguments.get(1).ok_or("usage: analyze FILE [THREADS]")?;
    let threads = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
    let options = Options { threads, ..Options::default() };
    let analysis = analyze(vec![Box::new(File::open(path)?)], &options, &NoObserver)?;
    let header = JsonHeader { input_paths: vec![path.clone()], ..JsonHeader::default() };
    let mut out = BufWriter::new(stdout().lock());
    analysis.write_json(&mut out, &header)?;
    out.flush()?;
    Ok(())
}

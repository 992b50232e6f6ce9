//! Measures the walk over records against the barest walk there can be, on synthetic files of about 1 GB (snap length
//! 96, full-size frames). Run as `cargo run --release --example walk [DIRECTORY]`; the files are made there (default:
//! the system's folder for temporary files), kept for the next run, and may be deleted.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use vmtrace_core::read::{CHUNK_BYTES, Chunk, ChunkSource, FileSource, open};

const RECORDS: u32 = 9_000_000;
const CAPTURED: u32 = 96;
const ROUNDS: usize = 7;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let pcap = directory.join("vmtrace-walk.pcap");
    let pcapng = directory.join("vmtrace-walk.pcapng");
    make(&pcap, write_pcap)?;
    make(&pcapng, write_pcapng)?;
    let walks: [(&str, &dyn Fn() -> Outcome<u64>); 4] = [
        ("bare walk, pcap", &|| bare_walk(&pcap)),
        ("FileSource, pcap", &|| file_source(&pcap)),
        ("FileSource, pcapng", &|| file_source(&pcapng)),
        ("merge of two files that overlap, pcap", &|| merged(&pcap)),
    ];
    // In turns, so that a busy machine is unfair to all alike.
    let mut best_ns = [f64::INFINITY; 4];
    for _ in 0..ROUNDS {
        for ((_, walk), best_ns) in walks.iter().zip(&mut best_ns) {
            let start = Instant::now();
            let records = walk()?;
            *best_ns = best_ns.min(start.elapsed().as_nanos() as f64 / records as f64);
        }
    }
    for ((name, _), ns) in walks.iter().zip(best_ns) {
        let (rate, ratio) = (1000.0 / ns, ns / best_ns[0]);
        println!("{name:>40} {ns:6.2} ns/record, {rate:5.1} M records/s, {ratio:.2} x bare walk");
    }
    Ok(())
}

fn file_source(path: &Path) -> Outcome<u64> {
    drain(&mut FileSource::new(Box::new(File::open(path)?), 0))
}

fn merged(path: &Path) -> Outcome<u64> {
    drain(open(vec![Box::new(File::open(path)?), Box::new(File::open(path)?)]).as_mut())
}

fn drain(source: &mut dyn ChunkSource) -> Outcome<u64> {
    let mut chunk = Chunk::default();
    let mut records = 0;
    while source.next_chunk(&mut chunk)? {
        records += chunk.records.len() as u64;
        black_box(&chunk);
    }
    Ok(records)
}

/// Hops over headers with nothing checked and nothing kept.
fn bare_walk(path: &Path) -> Outcome<u64> {
    let mut file = File::open(path)?;
    file.read_exact(&mut [0; 24])?;
    let mut buffer = vec![0; 2 * CHUNK_BYTES];
    let (mut kept, mut records, mut captured) = (0, 0, 0);
    loop {
        let count = file.read(&mut buffer[kept..kept + CHUNK_BYTES])?;
        if count == 0 {
            break;
        }
        let bytes = &buffer[..kept + count];
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + 16) {
            let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
            if at + 16 + length > bytes.len() {
                break;
            }
            records += 1;
            captured += length;
            at += 16 + length;
        }
        let end = kept + count;
        buffer.copy_within(at..end, 0);
        kept = end - at;
    }
    black_box(captured);
    Ok(records)
}

fn make(path: &Path, write: fn(&mut BufWriter<File>) -> std::io::Result<()>) -> Outcome<()> {
    if !path.exists() {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        write(&mut file)?;
        file.flush()?;
    }
    Ok(())
}

fn write_pcap(file: &mut BufWriter<File>) -> std::io::Result<()> {
    for number in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, CAPTURED, 1] {
        file.write_all(&number.to_le_bytes())?;
    }
    for number in 0..RECORDS {
        let (seconds, micros) = (1_700_000_000 + number / 100_000, number % 100_000 * 10);
        for field in [seconds, micros, CAPTURED, 1514] {
            file.write_all(&field.to_le_bytes())?;
        }
        file.write_all(&[number as u8; CAPTURED as usize])?;
    }
    Ok(())
}

fn write_pcapng(file: &mut BufWriter<File>) -> std::io::Result<()> {
    for number in [0x0a0d_0d0a_u32, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28, 1, 20, 1, CAPTURED, 20] {
        file.write_all(&number.to_le_bytes())?;
    }
    for number in 0..RECORDS {
        let micros = 1_700_000_000_000_000 + u64::from(number) * 10;
        let length = 32 + CAPTURED;
        for field in [6, length, 0, (micros >> 32) as u32, micros as u32, CAPTURED, 1514] {
            file.write_all(&field.to_le_bytes())?;
        }
        file.write_all(&[number as u8; CAPTURED as usize])?;
        file.write_all(&length.to_le_bytes())?;
    }
    Ok(())
}

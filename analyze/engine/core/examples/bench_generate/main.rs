//! Writes the captures that the benchmark measures on: TCP as a host records it, from a seed, the same every time.
//!
//! ```text
//! bench_generate bulk  OUT [--flows 8] [--packets 10000000] [--loss 0.001] [--snap 96] [--format pcap] [--seed 1]
//! bench_generate short OUT [--connections 100000] [--loss 0.01] [--snap 96] [--format pcap] [--seed 1]
//! bench_generate open  OUT: as short, and none of them is closed
//! ```
//!
//! `OUT.truth.json` says what is in the capture, so that the benchmark also checks that the fast answer is right.

mod bulk;
mod frame;
mod random;
mod short;
mod truth;
mod writer;

use std::error::Error;
use std::path::PathBuf;

use crate::writer::{CaptureWriter, Format};

/// What the command line asks for.
struct Arguments {
    kind: String,
    out: PathBuf,
    flows: u32,
    packets: u64,
    connections: u32,
    loss: Option<f64>,
    snap_length: usize,
    format: Format,
    seed: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = parse(std::env::args().skip(1))?;
    let mut writer = CaptureWriter::create(&arguments.out, arguments.format, arguments.snap_length)?;
    let truth = match arguments.kind.as_str() {
        "bulk" => bulk::generate(
            &bulk::Config {
                flows: arguments.flows,
                packets: arguments.packets,
                loss: arguments.loss.unwrap_or(0.001),
                seed: arguments.seed,
            },
            &mut writer,
        )?,
        kind @ ("short" | "open") => short::generate(
            &short::Config {
                connections: arguments.connections,
                closes: kind == "short",
                loss: arguments.loss.unwrap_or(0.01),
                seed: arguments.seed,
            },
            &mut writer,
        )?,
        other => return Err(format!("unknown kind '{other}': bulk, short or open").into()),
    };
    writer.finish()?;
    truth.write(&arguments.out)?;
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments {
        kind: words.next().ok_or("usage: bench_generate bulk|short|open OUT [OPTION VALUE]...")?,
        out: words.next().ok_or("no output file named")?.into(),
        flows: 8,
        packets: 10_000_000,
        connections: 100_000,
        loss: None,
        snap_length: 96,
        format: Format::Pcap,
        seed: 1,
    };
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--flows" => arguments.flows = value.parse()?,
            "--packets" => arguments.packets = value.parse()?,
            "--connections" => arguments.connections = value.parse()?,
            "--loss" => arguments.loss = Some(value.parse()?),
            "--snap" => arguments.snap_length = value.parse()?,
            "--format" => arguments.format = value.parse()?,
            "--seed" => arguments.seed = value.parse()?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    Ok(arguments)
}

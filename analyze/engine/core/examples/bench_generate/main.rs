//! Writes the captures that the benchmark measures on: TCP as a host records it, from a seed, the same every time.
//!
//! ```text
//! bench_generate bulk  OUT [--flows 8] [--packets 10000000] [--loss 0.001] [--snap 96] [--format pcap] [--seed 1]
//!       [--reordering 0] [--rtt-ms 20] [--policer-kbps RATE] [--policer-bytes 64000] [--client 5]
//!       [--segment-bytes 1448] [--sack true] [--timestamps true]
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

use crate::frame::Agreed;
use crate::writer::{CaptureWriter, Format};

/// What the command line asks for.
struct Arguments {
    kind: String,
    out: PathBuf,
    flows: u32,
    packets: u64,
    connections: u32,
    loss: Option<f64>,
    reordering: f64,
    rtt_ms: u64,
    policer_kbps: Option<u64>,
    policer_bytes: u64,
    client: u8,
    agreed: Agreed,
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
                reordering: arguments.reordering,
                rtt_ms: arguments.rtt_ms,
                policer: arguments
                    .policer_kbps
                    .map(|kbps| bulk::Policer { rate_bps: kbps * 1000, burst_bytes: arguments.policer_bytes }),
                client: arguments.client,
                agreed: arguments.agreed,
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
        reordering: 0.0,
        rtt_ms: 20,
        policer_kbps: None,
        policer_bytes: 64_000,
        client: 5,
        agreed: Agreed::default(),
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
            "--reordering" => arguments.reordering = value.parse()?,
            "--rtt-ms" => arguments.rtt_ms = value.parse()?,
            "--policer-kbps" => arguments.policer_kbps = Some(value.parse()?),
            "--policer-bytes" => arguments.policer_bytes = value.parse()?,
            "--client" => arguments.client = value.parse()?,
            "--segment-bytes" => arguments.agreed.segment_bytes = value.parse::<u32>()?.min(frame::MSS),
            "--sack" => arguments.agreed.sack = value.parse()?,
            "--timestamps" => arguments.agreed.timestamps = value.parse()?,
            "--snap" => arguments.snap_length = value.parse()?,
            "--format" => arguments.format = value.parse()?,
            "--seed" => arguments.seed = value.parse()?,
            _ => return Err(format!("unknown option {option}").into()),
        }
    }
    Ok(arguments)
}

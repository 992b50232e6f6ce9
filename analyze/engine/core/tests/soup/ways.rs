//! A capture through two flow tables: one whose steady connections go by the fast path, as they do in every analysis, and one
//! that asks the general rules for every packet.

use vmtrace_core::packet::Packet;
use vmtrace_core::tcp::flow::by_flow::Lines;
use vmtrace_core::tcp::flow::selection::Detail;
use vmtrace_core::tcp::flow::table::Shard;

use super::packets::{Capture, in_words};
use super::state::{difference, write_state};
use super::talk::Soup;

/// No connection has this number: rows are wanted of none.
const NO_CONNECTION: u32 = u32::MAX;

/// A table and the number of packets it has taken.
struct Way {
    shard: Shard,
    lines: Lines,
    order: u64,
}

impl Way {
    fn fast(limit_ns: Option<u64>) -> Self {
        Self::with(limit_ns, Detail::default())
    }

    /// Where rows of single packets are wanted, of whatever connection, none of them goes by the fast path.
    fn general(limit_ns: Option<u64>) -> Self {
        Self::with(limit_ns, Detail::of(&[NO_CONNECTION], &[]))
    }

    fn with(limit_ns: Option<u64>, detail: Detail) -> Self {
        Self { shard: Shard::new(limit_ns, detail), lines: Lines::default(), order: 0 }
    }

    fn take(&mut self, packets: &[Packet], bytes: &[u8]) {
        self.lines.line_up(packets, bytes, 1);
        self.shard.batch(packets, &self.lines, 0, bytes, self.order);
        self.order += packets.len() as u64;
    }
}

/// Compares the whole state of both ways after every packet. Where there is one connection, chunks of several packets are compared,
/// too: of several, connections are taken one after the other, so that what they share has another order within a chunk.
///
/// `plant` may change the fast way's table after packet so many: a test sees that it is found.
///
/// # Errors
/// Which packet made a difference, and in what.
pub fn compare(soup: &Soup, plant: impl Fn(u64, &mut Shard)) -> Result<(), String> {
    let Soup { capture, limit_ns, chunk, connections } = soup;
    let [mut fast, mut in_chunks] = [Way::fast(*limit_ns), Way::fast(*limit_ns)];
    let mut general = Way::general(*limit_ns);
    let mut texts = [String::new(), String::new()];
    for (index, packet) in capture.packets.iter().enumerate() {
        let one = std::slice::from_ref(packet);
        general.take(one, &capture.bytes);
        fast.take(one, &capture.bytes);
        plant(index as u64 + 1, &mut fast.shard);
        same_state([&mut fast, &mut general], &mut texts).map_err(|found| report(capture, index, "packet", &found))?;
        if *connections == 1 && (index + 1).is_multiple_of(*chunk) {
            in_chunks.take(&capture.packets[index + 1 - chunk..=index], &capture.bytes);
            same_state([&mut in_chunks, &mut general], &mut texts)
                .map_err(|found| report(capture, index, "chunk", &found))?;
        }
    }
    same_summaries(fast, general)
        .map_err(|found| report(capture, capture.packets.len().saturating_sub(1), "end", &found))
}

fn same_state([one, other]: [&mut Way; 2], texts: &mut [String; 2]) -> Result<(), String> {
    write_state(&mut one.shard, &mut texts[0]);
    write_state(&mut other.shard, &mut texts[1]);
    difference(&texts[0], &texts[1]).map_or(Ok(()), Err)
}

/// What is left when all connections are over.
fn same_summaries(fast: Way, general: Way) -> Result<(), String> {
    let texts = [fast, general].map(|way| {
        let (summaries, environment) = way.shard.finish_all();
        format!("{summaries:?}\n{:?}", environment.faults)
    });
    difference(&texts[0], &texts[1]).map_or(Ok(()), Err)
}

fn report(capture: &Capture, index: usize, after: &str, found: &str) -> String {
    let lines: Vec<String> = capture.packets.iter().take(index + 1).map(in_words).collect();
    format!("fast and general path differ ({after})\n{found}packets:\n{}", lines.join("\n"))
}

//! The connections of the JSON document, block after block. Where there are many, several threads write a block each at the same time,
//! and one of them puts them in order.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, scope};

use crate::analysis::results::Analysis;
use crate::output::describe::connection::connection;
use crate::output::describe::outcome::around;
use crate::output::json_writer::{BUFFER_BYTES, Json};
use crate::tcp::summary::summary::ConnectionSummary;

/// Connections of a block: about as many as are written at once.
const BLOCK: usize = 16;

/// Fewer connections are written before another thread has begun.
const FEWEST_FOR_THREADS: usize = 256;

type Block<'a> = &'a [Box<ConnectionSummary>];

/// Which connections are written, and what is said of them that they do not hold.
pub(super) struct Wanted<'a> {
    /// Their numbers, ascending; all of them if not given.
    pub(super) only: Option<&'a [u32]>,
    /// By the number of a connection, the lookup that led to it.
    pub(super) lookup_of: HashMap<u32, u64>,
}

impl Wanted<'_> {
    /// Writes those that are wanted, each with a comma behind it. What is left in `json` has to be written yet.
    pub(super) fn write(&self, analysis: &Analysis, json: &mut Json, out: &mut dyn Write) -> io::Result<()> {
        let all = &analysis.connections;
        let helpers = if all.len() < FEWEST_FOR_THREADS { 0 } else { analysis.threads.saturating_sub(1) };
        let with_runs = json.with_runs;
        scope(|scope| {
            // Where the system gives no more threads, those that there are write all.
            let helpers: Vec<_> = (0..helpers).map_while(|_| Helper::begin(scope, self, with_runs).ok()).collect();
            let mut rounds = all.chunks(BLOCK * (helpers.len() + 1)).inspect(|round| {
                let others = helpers.iter().zip(round.chunks(BLOCK).skip(1));
                others.for_each(|(helper, block)| helper.blocks.send(block).unwrap_or_default());
            });
            // Helpers have the next round before they have given this one.
            let mut next = rounds.next();
            while let Some(round) = next {
                next = rounds.next();
                let mut blocks = round.chunks(BLOCK);
                self.push(blocks.next().unwrap_or_default(), json);
                pass_on(json, out)?;
                for (helper, _) in helpers.iter().zip(blocks) {
                    json.out.extend(helper.texts.recv().unwrap_or_default());
                    pass_on(json, out)?;
                }
            }
            Ok(())
        })
    }

    fn push(&self, block: Block<'_>, json: &mut Json) {
        let is_wanted = |id: u32| self.only.is_none_or(|only| only.binary_search(&id).is_ok());
        let mut connections = block.iter().filter(|summary| is_wanted(summary.id)).peekable();
        while let Some(summary) = connections.next() {
            // Summaries of many connections are in no cache: the next one is fetched while this one is written.
            if let Some(next) = connections.peek() {
                next.touch();
            }
            json.out.extend_from_slice(b"\n{");
            connection(summary, json);
            around(self.lookup_of.get(&summary.id).copied(), summary.icmp_related(), json);
            json.close(b'}');
        }
    }
}

/// Writes what has come together but for the last comma, which the end of the list may have to replace.
fn pass_on(json: &mut Json, out: &mut dyn Write) -> io::Result<()> {
    if json.out.len() >= BUFFER_BYTES {
        let comma = json.out.pop();
        out.write_all(&json.out)?;
        json.out.clear();
        json.out.extend(comma);
    }
    Ok(())
}

/// Another thread: it is given blocks, and gives their texts in the same order.
struct Helper<'a> {
    blocks: SyncSender<Block<'a>>,
    texts: Receiver<Vec<u8>>,
}

impl<'a> Helper<'a> {
    fn begin<'scope>(scope: &'scope Scope<'scope, '_>, wanted: &'scope Wanted<'_>, with_runs: bool) -> io::Result<Self>
    where
        'a: 'scope,
    {
        let (blocks, given) = sync_channel::<Block<'a>>(2);
        let (texts, taken) = sync_channel(2);
        Builder::new().spawn_scoped(scope, move || {
            let mut json = Json::new(with_runs);
            for block in given {
                wanted.push(block, &mut json);
                // Nobody takes it where the writing has failed.
                if texts.send(std::mem::replace(&mut json.out, Json::room())).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { blocks, texts: taken })
    }
}

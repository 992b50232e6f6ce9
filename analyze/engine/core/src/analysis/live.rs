//! A reading that is looked at while it goes on: of a stream that does not end, or a file that grows.
//!
//! What has passed is concluded from a copy of all that is known of it, by the code that concludes a whole reading: the state of
//! every open connection is copied, and ended in the copy. Records that wait for earlier ones are taken into the copy, too. So each
//! snapshot is what an analysis of the stream up to there gives, but for a record at its end of which a part has come.
//!
//! Of a stream that goes on for weeks what ended long ago is forgotten ([`crate::tcp::flow::forget`]).

use crate::analysis::failure::Failure;
use crate::analysis::kept::{Keep, KeptRecords};
use crate::analysis::options::{Observer, Options};
use crate::analysis::part::Part;
use crate::analysis::reading::Reading;
use crate::analysis::results::Analysis;
use crate::analysis::serial::{Hand, Reached};
use crate::analysis::stage::{Filtered, Intake};
use crate::analysis::time_order::Patience;
use crate::read::chunk_source::Input;
use crate::read::merge::open;
use crate::read::record::Chunk;
use crate::tcp::flow::memory_budget::Room;

/// See the module.
pub struct Live<'a> {
    intake: Intake<'a>,
    options: &'a Options,
    reached: Reached,
    hand: Hand,
    chunk: Chunk,
    filtered: Vec<Filtered>,
    kept: KeptRecords,
    /// Latest time of what was taken.
    newest_ns: i64,
}

impl<'a> Live<'a> {
    /// Begins to read `input`, and keeps the last packets as `keep` says.
    pub fn new(input: Input, options: &'a Options, observer: &'a dyn Observer, keep: Keep) -> Self {
        let source = Reading::corrected(open(vec![input]), options, Patience::Once);
        Self {
            intake: Intake::new(source, options, observer),
            options,
            reached: Reached::new(options),
            hand: Hand::of(&Part::whole(Room::ANY)),
            chunk: Chunk::default(),
            filtered: Vec::new(),
            kept: KeptRecords::new(keep),
            newest_ns: i64::MIN,
        }
    }

    /// Takes what is there, or waits a little; false at the end.
    pub fn step(&mut self) -> bool {
        if !self.intake.next(&mut self.chunk, &mut self.filtered) {
            return false;
        }
        self.kept.chunk(&self.chunk);
        self.newest_ns = self.chunk.records.iter().map(|record| record.time_ns).fold(self.newest_ns, i64::max);
        self.reached.take(&mut self.chunk, &mut self.filtered, &mut self.hand);
        true
    }

    /// What has passed so far.
    pub fn snapshot(&mut self) -> Analysis {
        let mut reached = self.reached.clone();
        let Self { intake, hand, options, .. } = self;
        intake.waiting(|chunk, filtered| reached.take(chunk, filtered, hand));
        Reading::so_far(intake, reached.end()).conclude(options)
    }

    /// Forgets what ended more than `horizon_ns` before the last packet, and more where connections take more than `room_bytes`. Gives
    /// the numbers of the first packets of the connections that are gone, ascending.
    pub fn forget(&mut self, horizon_ns: i64, room_bytes: usize) -> Vec<u64> {
        let before_ns = self.newest_ns.saturating_sub(horizon_ns);
        self.reached.others.forget(before_ns);
        let environment = &mut self.reached.shard.shared.environment;
        environment.openings.forget(before_ns);
        environment.clock_steps.retain(|step| step.time_ns >= before_ns);
        self.reached.shard.forget(before_ns, &Room::of(room_bytes))
    }

    /// How many connections are forgotten.
    pub fn forgotten(&self) -> u32 {
        self.reached.shard.shared.forgotten.count()
    }

    /// The last packets as a pcapng file.
    pub fn last_packets(&mut self) -> Vec<u8> {
        let mut kept = self.kept.clone();
        self.intake.waiting(|chunk, _| kept.chunk(chunk));
        kept.file()
    }

    /// What the whole stream shows.
    ///
    /// # Errors
    /// As [`crate::analysis::whole::analyze`].
    pub fn finish(self) -> Result<Analysis, Failure> {
        Reading::ended(self.intake, self.reached.end()).map(|reading| reading.conclude(self.options))
    }
}

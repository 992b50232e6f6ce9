//! The same on several threads. Connections are spread over shards. A thread's next task is the part of a decoded chunk that
//! one shard takes, or else to read and decode another chunk.
//!
//! What costs is what goes from one processor's cache to another's, so each task has the thread that suits it. Where a
//! chunk holds many connections, a shard belongs to one thread: connections stay, packets move. Where it holds few, the
//! thread that decoded the chunk analyses it, shard after shard, behind the thread that has the chunk before: packets stay,
//! connections move. Of fewer connections than threads each stays again: nobody could follow behind, and whoever has none
//! reads and decodes. Only a thread that would have to wait takes what suits another.
//!
//! Chunks are decoded in any order and published in file order; a shard takes its packets of one published chunk after
//! the other, one thread at a time. The number of chunks under way is bounded, and so is memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use crate::analysis::options::Options;
use crate::analysis::others::Others;
use crate::analysis::part::Part;
use crate::analysis::stage::{Collected, Filtered, Intake, Tallies};
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::decode::reason::CountsByInput;
use crate::read::record::Chunk;
use crate::tcp::flow::by_flow::Lines;
use crate::tcp::flow::memory_budget::{Fullness, Room};
use crate::tcp::flow::table::Shard;

/// Shards for each thread: enough for a thread to follow closely behind another.
const SHARDS_PER_THREAD: usize = 4;

/// Chunks under way for each thread.
const CHUNKS_PER_THREAD: usize = 2;

/// A chunk with more packets than this for each connection holds few connections: then the packets of a connection weigh
/// more than its records.
const MANY_PACKETS: usize = 24;

/// A chunk on its way.
#[derive(Default)]
struct Work {
    chunk: Chunk,
    batch: Batch,
    filtered: Vec<Filtered>,
    lines: Lines,
    /// The thread that decoded it, if it suits all tasks.
    decoder: Option<usize>,
    first_order: u64,
}

impl Work {
    fn of(part: &Part) -> Self {
        Self { lines: Lines::of(part.hashes.clone()), ..Self::default() }
    }

    fn sort_out(&mut self, shards: usize, decoder: usize) {
        let packets = self.batch.packets();
        self.lines.line_up(packets, &self.chunk.bytes, shards);
        let connections = self.lines.count();
        let few = connections >= shards / SHARDS_PER_THREAD && connections * MANY_PACKETS <= packets.len();
        self.decoder = (shards > 1 && few).then_some(decoder);
    }

    /// The thread that suits the shard's part.
    fn thread_for(&self, shard: usize) -> usize {
        self.decoder.unwrap_or(shard / SHARDS_PER_THREAD)
    }

    fn is_empty_for(&self, shard: usize) -> bool {
        self.lines.of_shard(shard).is_empty()
    }
}

/// Who is where.
struct Board {
    reading: bool,
    at_end: bool,
    /// Chunks read, and chunks under way.
    read: u64,
    under_way: usize,
    /// Decoded, waiting for an earlier one.
    decoded: BTreeMap<u64, Work>,
    /// Published chunks, from number `first` on, each with the number of shards that still want it.
    published: VecDeque<(Arc<Work>, usize)>,
    first: u64,
    /// A shard has more connections than there is room for: nothing more is read.
    is_overfull: bool,
    /// Nor would parts help.
    is_exhausted: bool,
    /// Threads that wait for news.
    waiting: usize,
    /// Next chunk of each shard, and whether a thread is at it.
    shards: Vec<(u64, bool)>,
    spare: Vec<Work>,
    next_order: u64,
    reassembler: Reassembler,
    tallies: Tallies,
    others: Others,
}

struct Hall<'a, 'b> {
    board: Mutex<Board>,
    news: Condvar,
    intake: Mutex<&'a mut Intake<'b>>,
    shards: Vec<Mutex<Shard>>,
    room_of_shard: Room,
    part: &'a Part,
    most_under_way: usize,
}

/// What a thread does next.
enum Task {
    Analyse { shard: usize, work: Arc<Work> },
    Read(Box<Work>),
    Leave,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs to the end of the input, or until there are more connections than the part has room for.
pub fn run(intake: &mut Intake<'_>, options: &Options, part: &Part) -> Collected {
    // Rows are wanted in capture order and connections are known by number: one shard then.
    let detail = options.detail();
    let shards = if detail.is_empty() { options.threads * SHARDS_PER_THREAD } else { 1 };
    let hall = Hall {
        board: Mutex::new(Board::new(shards, options)),
        news: Condvar::new(),
        intake: Mutex::new(intake),
        shards: (0..shards).map(|_| Mutex::new(options.shard())).collect(),
        room_of_shard: part.room.shared_by(shards),
        part,
        most_under_way: options.threads * CHUNKS_PER_THREAD,
    };
    hall.work_on(options.threads);
    hall.into_collected()
}

impl Board {
    fn new(shards: usize, options: &Options) -> Self {
        Self {
            reading: false,
            at_end: false,
            read: 0,
            under_way: 0,
            decoded: BTreeMap::new(),
            published: VecDeque::new(),
            first: 0,
            is_overfull: false,
            is_exhausted: false,
            waiting: 0,
            shards: vec![(0, false); shards],
            spare: Vec::new(),
            next_order: 0,
            reassembler: Reassembler::new(),
            tallies: Tallies::default(),
            others: Others::new(options),
        }
    }
}

impl Hall<'_, '_> {
    /// All the work, on so many threads with the calling one.
    fn work_on(&self, threads: usize) {
        std::thread::scope(|scope| {
            for thread in 1..threads {
                // Where the system gives no more of them, those that there are do all the work.
                if Builder::new().spawn_scoped(scope, move || self.work(thread)).is_err() {
                    break;
                }
            }
            self.work(0);
        });
    }

    fn into_collected(self) -> Collected {
        let mut board = self.board.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut counts = CountsByInput::default();
        board.reassembler.finish(&mut counts);
        board.tallies.add_counts(&counts);
        board.others.end_fragments(&board.reassembler);
        let shards = self.shards.into_iter().map(|shard| shard.into_inner().unwrap_or_else(PoisonError::into_inner));
        Collected {
            shards: shards.collect(),
            tallies: board.tallies.into_list(),
            others: board.others,
            is_overfull: board.is_overfull,
            is_exhausted: board.is_exhausted,
        }
    }

    fn work(&self, thread: usize) {
        loop {
            match self.next_task(thread) {
                Task::Analyse { shard, work } => self.analyse(shard, work),
                Task::Read(work) => self.read(*work, thread),
                Task::Leave => return,
            }
        }
    }

    fn next_task(&self, thread: usize) -> Task {
        let mut board = lock(&self.board);
        loop {
            if let Some((shard, work)) = board.next_analysis(Some(thread)) {
                return Task::Analyse { shard, work };
            }
            if !board.reading && !board.at_end && board.under_way < self.most_under_way {
                board.reading = true;
                board.under_way += 1;
                return Task::Read(Box::new(board.spare.pop().unwrap_or_else(|| Work::of(self.part))));
            }
            if let Some((shard, work)) = board.next_analysis(None) {
                return Task::Analyse { shard, work };
            }
            if board.at_end && board.under_way == 0 {
                return Task::Leave;
            }
            board.waiting += 1;
            board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
            board.waiting -= 1;
        }
    }

    /// Lets the board go and wakes those who wait, if there is more to do than the `own` tasks that the caller takes next.
    fn tell(&self, board: MutexGuard<'_, Board>, own: usize) {
        let wake = board.waiting > 0 && board.open_tasks(self.most_under_way) > own;
        drop(board);
        if wake {
            self.news.notify_all();
        }
    }

    fn analyse(&self, shard: usize, work: Arc<Work>) {
        let mut own = lock(&self.shards[shard]);
        own.batch(work.batch.packets(), &work.lines, shard, &work.chunk.bytes, work.first_order);
        let fullness = own.fullness(&self.room_of_shard);
        drop(own);
        drop(work);
        let mut board = lock(&self.board);
        board.is_overfull |= fullness == Fullness::Overfull;
        board.is_exhausted |= fullness == Fullness::Exhausted;
        board.at_end |= fullness != Fullness::Fits;
        board.analysed(shard);
        self.tell(board, 1);
    }

    fn read(&self, mut work: Work, thread: usize) {
        let mut intake = lock(&self.intake);
        let more = intake.next(&mut work.chunk, &mut work.filtered);
        drop(intake);
        let mut board = lock(&self.board);
        board.reading = false;
        if !more {
            board.at_end = true;
            board.under_way -= 1;
            return self.tell(board, 1);
        }
        let number = board.read;
        board.read += 1;
        let shards = board.shards.len();
        self.tell(board, 0);
        work.batch.clear();
        work.batch.decode(&mut work.chunk);
        if work.batch.fragments.is_empty() {
            work.sort_out(shards, thread);
        }
        let mut board = lock(&self.board);
        board.publish(number, work, thread);
        self.tell(board, 1);
    }
}

impl Board {
    /// How much there is to do: worth waking others for. A reader that has had to wait is woken once half the room is free, or
    /// it would sleep and wake with every chunk.
    fn open_tasks(&self, most_under_way: usize) -> usize {
        if self.at_end && self.under_way == 0 {
            return usize::MAX;
        }
        let to_read = !self.reading && !self.at_end && 2 * self.under_way <= most_under_way;
        usize::from(to_read) + self.ready().count()
    }

    /// Shards that nobody is at and whose next chunk is published: its number, the shard, the chunk.
    fn ready(&self) -> impl Iterator<Item = (u64, usize, &Arc<Work>)> {
        self.shards.iter().enumerate().filter(|(_, (_, busy))| !busy).filter_map(|(shard, &(next, _))| {
            let (work, _) = self.published.get((next - self.first) as usize)?;
            Some((next, shard, work))
        })
    }

    /// The shard that is furthest behind, with its next chunk, of those that suit the thread or of all.
    fn next_analysis(&mut self, thread: Option<usize>) -> Option<(usize, Arc<Work>)> {
        let suits = |work: &Work, shard| thread.is_none_or(|thread| work.thread_for(shard) == thread);
        let ready = self.ready().filter(|&(_, shard, work)| suits(work, shard));
        let (_, shard, work) = ready.min_by_key(|&(next, shard, _)| (next, shard))?;
        let work = Arc::clone(work);
        self.shards[shard].1 = true;
        Some((shard, work))
    }

    fn analysed(&mut self, shard: usize) {
        self.shards[shard].1 = false;
        self.pass(shard);
        self.skip_empty(shard);
        self.recycle();
    }

    /// The shard is done with its next chunk.
    fn pass(&mut self, shard: usize) {
        let index = (self.shards[shard].0 - self.first) as usize;
        self.published[index].1 -= 1;
        self.shards[shard].0 += 1;
    }

    /// Passes chunks that hold nothing for the shard.
    fn skip_empty(&mut self, shard: usize) {
        while !self.shards[shard].1
            && let Some((work, _)) = self.published.get((self.shards[shard].0 - self.first) as usize)
            && work.is_empty_for(shard)
        {
            self.pass(shard);
        }
    }

    fn recycle(&mut self) {
        while self.published.front().is_some_and(|(_, wanted)| *wanted == 0) {
            if let Some((work, _)) = self.published.pop_front() {
                self.first += 1;
                self.under_way -= 1;
                self.spare.extend(Arc::try_unwrap(work));
            }
        }
    }

    /// Takes a decoded chunk; publishes it, and those behind it, if all before it are published.
    fn publish(&mut self, number: u64, work: Work, thread: usize) {
        self.decoded.insert(number, work);
        let shards = self.shards.len();
        while let Some(mut work) = self.decoded.remove(&(self.first + self.published.len() as u64)) {
            if !work.batch.fragments.is_empty() {
                work.batch.join_fragments(&mut work.chunk, &mut self.reassembler);
                work.sort_out(shards, thread);
            }
            self.tallies.add(&work.chunk, &work.batch);
            self.others.chunk(&work.chunk, &work.batch);
            self.tallies.add_filtered(&work.filtered);
            work.filtered.clear();
            work.first_order = self.next_order;
            self.next_order += work.batch.packets().len() as u64;
            self.published.push_back((Arc::new(work), shards));
        }
        (0..shards).for_each(|shard| self.skip_empty(shard));
        self.recycle();
    }
}

//! The same on several threads. Each thread has a shard of its own, whose connections thus stay in its processor's cache.
//! What it does next: analysing its shard's part of a decoded chunk, or else reading and decoding another chunk. A thread
//! with less to analyse decodes more: few connections still keep two threads busy (of one, one thread decodes and one
//! analyses), and many connections all of them.
//!
//! Chunks are decoded in any order and published in file order; a shard takes its packets of one published chunk after
//! the other. The number of chunks under way is bounded, and so is memory.

use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Options;
use super::stage::{InputTally, Intake, Tallies};
use crate::decode::fragments::Reassembler;
use crate::decode::{Batch, Counts};
use crate::read::Chunk;
use crate::tcp::shard::Shard;

/// Chunks under way for each thread.
const CHUNKS_PER_THREAD: usize = 3;

/// A chunk on its way.
#[derive(Default)]
struct Work {
    chunk: Chunk,
    batch: Batch,
    filtered: Vec<u16>,
    /// Packet indices by shard; unused with a single shard.
    by_shard: Vec<Vec<u32>>,
    first_order: u64,
}

impl Work {
    fn sort_out(&mut self, shards: usize) {
        self.by_shard.resize_with(shards, Vec::new);
        self.by_shard.iter_mut().for_each(Vec::clear);
        if shards == 1 {
            return;
        }
        for (index, packet) in self.batch.packets().iter().enumerate() {
            // The shard takes the middle bits of the hash; the tables within use the others.
            let shard = (u64::from(packet.flow_hash.rotate_left(16)) * shards as u64) >> 32;
            self.by_shard[shard as usize].push(index as u32);
        }
    }

    fn is_empty_for(&self, shard: usize) -> bool {
        if self.by_shard.len() == 1 { self.batch.packets().is_empty() } else { self.by_shard[shard].is_empty() }
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
    /// Next chunk of each shard.
    next: Vec<u64>,
    spare: Vec<Work>,
    next_order: u64,
    reassembler: Reassembler,
    tallies: Tallies,
}

struct Hall<'a, 'b> {
    board: Mutex<Board>,
    news: Condvar,
    intake: Mutex<&'a mut Intake<'b>>,
    most_under_way: usize,
}

/// What a thread does next.
enum Task {
    Analyse(Arc<Work>),
    Read(Box<Work>),
    Leave,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs to the end of the input.
pub fn run(intake: &mut Intake<'_>, options: &Options) -> (Vec<Shard>, Vec<InputTally>) {
    // Rows are wanted in capture order and connections are known by number: one shard then, and the others only decode.
    let shards = if options.detail_connections.is_empty() { options.threads } else { 1 };
    let hall = Hall {
        board: Mutex::new(Board {
            reading: false,
            at_end: false,
            read: 0,
            under_way: 0,
            decoded: BTreeMap::new(),
            published: VecDeque::new(),
            first: 0,
            next: vec![0; shards],
            spare: Vec::new(),
            next_order: 0,
            reassembler: Reassembler::new(),
            tallies: Tallies::default(),
        }),
        news: Condvar::new(),
        intake: Mutex::new(intake),
        most_under_way: options.threads * CHUNKS_PER_THREAD,
    };
    let new_shard = || Shard::new(options.oversize_abs_ns, options.detail_connections.clone());
    let shards = std::thread::scope(|scope| {
        let hall = &hall;
        let others: Vec<_> =
            (1..options.threads).map(|number| scope.spawn(move || hall.work(number, new_shard()))).collect();
        let own = hall.work(0, new_shard());
        let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    });
    let mut board = hall.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut counts = Counts::default();
    board.reassembler.finish(&mut counts);
    board.tallies.add_counts(&counts);
    (shards, board.tallies.into_list())
}

impl Hall<'_, '_> {
    fn work(&self, number: usize, mut shard: Shard) -> Shard {
        loop {
            match self.next_task(number) {
                Task::Analyse(work) => {
                    let chosen = work.by_shard.get(number).filter(|_| work.by_shard.len() > 1).map(Vec::as_slice);
                    shard.batch(work.batch.packets(), chosen, &work.chunk.bytes, work.first_order);
                    drop(work);
                    lock(&self.board).analysed(number);
                    self.news.notify_all();
                }
                Task::Read(work) => self.read(*work),
                Task::Leave => return shard,
            }
        }
    }

    fn next_task(&self, number: usize) -> Task {
        let mut board = lock(&self.board);
        loop {
            if let Some(work) = board.next_analysis(number) {
                return Task::Analyse(work);
            }
            if !board.reading && !board.at_end && board.under_way < self.most_under_way {
                board.reading = true;
                board.under_way += 1;
                return Task::Read(Box::new(board.spare.pop().unwrap_or_default()));
            }
            if board.at_end && board.under_way == 0 {
                return Task::Leave;
            }
            board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn read(&self, mut work: Work) {
        let mut intake = lock(&self.intake);
        let more = intake.next(&mut work.chunk, &mut work.filtered);
        drop(intake);
        let mut board = lock(&self.board);
        board.reading = false;
        if !more {
            board.at_end = true;
            board.under_way -= 1;
            drop(board);
            self.news.notify_all();
            return;
        }
        let number = board.read;
        board.read += 1;
        let shards = board.next.len();
        drop(board);
        self.news.notify_all();
        work.batch.clear();
        work.batch.decode(&work.chunk);
        if work.batch.fragments.is_empty() {
            work.sort_out(shards);
        }
        lock(&self.board).publish(number, work);
        self.news.notify_all();
    }
}

impl Board {
    /// The next chunk that holds something for the shard.
    fn next_analysis(&self, shard: usize) -> Option<Arc<Work>> {
        let (work, _) = self.published.get((self.next.get(shard)? - self.first) as usize)?;
        Some(Arc::clone(work))
    }

    fn analysed(&mut self, shard: usize) {
        self.pass(shard);
        self.skip_empty(shard);
        self.recycle();
    }

    /// The shard is done with its next chunk.
    fn pass(&mut self, shard: usize) {
        let index = (self.next[shard] - self.first) as usize;
        self.published[index].1 -= 1;
        self.next[shard] += 1;
    }

    /// Passes chunks that hold nothing for the shard.
    fn skip_empty(&mut self, shard: usize) {
        while let Some((work, _)) = self.published.get((self.next[shard] - self.first) as usize)
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
    fn publish(&mut self, number: u64, work: Work) {
        self.decoded.insert(number, work);
        let shards = self.next.len();
        while let Some(mut work) = self.decoded.remove(&(self.first + self.published.len() as u64)) {
            if !work.batch.fragments.is_empty() {
                work.batch.join_fragments(&mut work.chunk, &mut self.reassembler);
                work.sort_out(shards);
            }
            self.tallies.add(&work.chunk, &work.batch);
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

//! Records of one capture in order of their times, within a bounded window: a card with several queues, several interfaces or taps
//! write them in another order. Stands behind the sources, before [`crate::analysis::lag`] and [`crate::analysis::stage::Intake`].
//!
//! A chunk waits until the next one was read. While times only rise, chunks go on as they are. The first record that is
//! earlier than one before it makes the source wait for others: for several times the largest step so far, in at most
//! [`MOST_HELD_BYTES`]. What comes too late even for that goes on at once and is counted; inputs that can be read once more are
//! ([`crate::analysis::parts`]), with the window that they need.
//!
//! A clock that was set back is no disorder: [`crate::analysis::set_back`] tells them apart. Nor are captures that stand one behind
//! the other: [`crate::analysis::runs`] has them read beside each other.
//!
//! Rule: docs/methods.md, "Records out of time order".

use crate::analysis::held::{HeldChunks, LAST, RecordKey, push_record};
use crate::analysis::set_back::{
    FEWEST_SHOWING, LONGEST_DISORDER_NS, LOOKED_FAR_AHEAD, LastPackets, MOST_FAR_STEPS, OrderShown, order_shown,
};
use crate::keyed::KeyedMap;
use crate::read::chunk_source::ChunkSource;
use crate::read::input_facts::{InputFacts, OutOfTimeOrder};
use crate::read::read_error::ReadError;
use crate::read::record::{Chunk, ChunkStart, Record};

/// The shortest window once there is disorder.
const SHORTEST_WINDOW_NS: i64 = 50_000_000;

/// The window in largest steps.
const WINDOW_IN_STEPS: i64 = 4;

/// What waits takes no more memory than about this.
const MOST_HELD_BYTES: usize = 64 << 20;

/// Bytes that wait behind the first chunk while all is in order and the input can be read once more.
const LITTLE_HELD_BYTES: usize = 1;

/// The same of what can be read but once.
const PATIENTLY_HELD_BYTES: usize = 4 << 20;

/// Records behind one that steps back that are looked at to tell disorder from a clock that was set.
const LOOKED_AHEAD: usize = 256;

/// A chunk does not grow further to have them.
const LARGEST_GROWN_BYTES: usize = 8 << 20;

/// A clock that was set back by less is no clock step but times that jitter.
const SHORTEST_CLOCK_STEP_NS: i64 = 50_000_000;

/// Times jitter by so much where packets are stamped in groups; of more, several packets must show that their order is right.
const LONGEST_JITTER_NS: i64 = 100_000;

/// How long to wait for earlier records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// The inputs can be read once more if that was too short.
    Little,
    /// The same, and parts of them can be read by themselves: where captures were appended nothing more is read.
    UntilAppended,
    /// They cannot.
    Once,
    /// The same, of a part of a corpus: what stands before it is not read, so that what senders show is no sign of another capture.
    OfPart,
    /// They were read before: records step back by so much, nanoseconds.
    ForSteps(i64),
}

/// What a step back in time is.
enum StepBack {
    Disorder,
    /// Times that jitter: the order in the file is right.
    Jitter,
    /// The clock was set.
    Clock,
    /// Another capture begins.
    Appended,
}

/// The step back that was judged last.
struct Judged {
    newest_ns: i64,
    back_ns: i64,
    is_jitter: bool,
}

impl Judged {
    /// What is that much earlier than the newest time is of the same step.
    fn covers(&self, newest_ns: i64, back_ns: i64) -> bool {
        self.newest_ns == newest_ns && back_ns / 2 <= self.back_ns
    }
}

/// A source in order of time.
pub(crate) struct TimeOrder {
    inner: Box<dyn ChunkSource>,
    held: HeldChunks,
    patience: Patience,
    ended: bool,
    /// What the inner source failed with while it was asked for more.
    error: Option<ReadError>,
    disorder: Vec<OutOfTimeOrder>,
    largest_step_ns: i64,
    /// Latest time by input and interface since the clock was set, at the end of each chunk.
    latest_ns: KeyedMap<(u16, u16), i64>,
    /// Latest time of all since the clock was set.
    newest_ns: i64,
    /// How often the clock was set back.
    epoch: u32,
    /// What came before the record at hand, as far as it was noted.
    noted: Option<LastPackets>,
    /// Time of the record read last, for records without one.
    last_time_ns: Option<i64>,
    /// Interfaces were described in the chunk before.
    had_headers: bool,
    /// Captures were appended: nothing of this reading counts.
    given_up: bool,
    /// Steps back so far that they are no disorder.
    far_steps: usize,
}

impl TimeOrder {
    /// `inner` in order of time.
    pub(crate) fn new(inner: Box<dyn ChunkSource>, patience: Patience) -> Self {
        let known_ns = if let Patience::ForSteps(step_ns) = patience { step_ns } else { 0 };
        Self {
            inner,
            held: HeldChunks::default(),
            patience,
            ended: false,
            error: None,
            disorder: Vec::new(),
            largest_step_ns: known_ns,
            latest_ns: KeyedMap::default(),
            newest_ns: i64::MIN,
            epoch: 0,
            noted: None,
            last_time_ns: None,
            had_headers: false,
            given_up: false,
            far_steps: 0,
        }
    }

    /// What may go on, and how many bytes wait of the rest.
    fn settled(&self) -> (RecordKey, usize) {
        let step_ns = self.largest_step_ns;
        let (window_ns, most_bytes) = match self.patience {
            _ if self.ended => return (LAST, 0),
            Patience::Once | Patience::OfPart if step_ns == 0 => (i64::MAX, PATIENTLY_HELD_BYTES),
            _ if step_ns == 0 => (i64::MAX, LITTLE_HELD_BYTES),
            Patience::ForSteps(_) => (step_ns, MOST_HELD_BYTES),
            Patience::Once | Patience::OfPart => (step_ns.max(LONGEST_DISORDER_NS), MOST_HELD_BYTES),
            Patience::Little | Patience::UntilAppended => {
                let window_ns = step_ns.saturating_mul(WINDOW_IN_STEPS).clamp(SHORTEST_WINDOW_NS, LONGEST_DISORDER_NS);
                (window_ns.max(step_ns), MOST_HELD_BYTES)
            }
        };
        ((self.epoch, self.newest_ns.saturating_sub(window_ns)), most_bytes)
    }

    /// Reads a chunk into what is held; `room` is a chunk whose contents nobody wants. False if nothing is there just now.
    fn read(&mut self, mut room: Chunk) -> Result<bool, ReadError> {
        self.ended = !self.inner.next_chunk(&mut room)?;
        if !self.ended && room.records.is_empty() {
            return Ok(false);
        }
        if !self.ended {
            let has_headers = room.stretch.is_some_and(ChunkStart::has_headers_within);
            self.take_in(room);
            self.had_headers = has_headers;
        }
        Ok(true)
    }

    fn take_in(&mut self, chunk: Chunk) {
        let mut previous_ns = self.newest_ns.max(Record::NO_TIME + 1);
        let mut rising = true;
        // Without leaving early, which would cost more than it saves. A record without a time is no rise either.
        for record in &chunk.records {
            rising &= record.time_ns >= previous_ns;
            previous_ns = record.time_ns;
        }
        let Some(last) = chunk.records.last().filter(|_| rising) else { return self.take_in_disorder(chunk) };
        self.latest_ns.insert((last.input, last.interface), last.time_ns);
        (self.newest_ns, self.last_time_ns, self.noted) = (last.time_ns, Some(last.time_ns), None);
        self.held.push_rising(chunk, self.epoch);
    }

    /// Times that fall, or records without a time.
    #[cold]
    fn take_in_disorder(&mut self, mut chunk: Chunk) {
        self.fill_times(&mut chunk);
        let mut keys: Vec<RecordKey> = Vec::with_capacity(chunk.records.len());
        let mut judged = Judged { newest_ns: i64::MIN, back_ns: 0, is_jitter: false };
        let mut noted = 0;
        while let Some(record) = chunk.records.get(keys.len()).copied() {
            let back_ns = self.newest_ns.saturating_sub(record.time_ns);
            if back_ns > 0 && !judged.covers(self.newest_ns, back_ns) {
                judged = Judged { newest_ns: self.newest_ns, back_ns, is_jitter: false };
                match self.judge(&mut chunk, keys.len(), &mut noted) {
                    StepBack::Disorder => {}
                    StepBack::Jitter => judged.is_jitter = true,
                    StepBack::Clock => self.clock_was_set(&record),
                    StepBack::Appended => {
                        self.disorder_of(record.input).appended_left += 1;
                        self.given_up |= matches!(self.patience, Patience::UntilAppended);
                        self.clock_was_set(&record);
                    }
                }
            }
            let is_late = record.time_ns < self.newest_ns;
            if is_late && !judged.is_jitter {
                self.count(&record);
            }
            keys.push((self.epoch, if is_late && judged.is_jitter { self.newest_ns } else { record.time_ns }));
            self.reach(&record);
        }
        match noted {
            0 => self.noted = None,
            _ => self.note(&chunk, noted..chunk.records.len()),
        }
        self.held.push_by(chunk, &keys);
    }

    /// Notes records of a chunk; those of the chunks before it first, if they were not.
    fn note(&mut self, chunk: &Chunk, indices: std::ops::Range<usize>) {
        let held = &self.held;
        let noted = self.noted.get_or_insert_with(|| {
            let mut noted = LastPackets::default();
            let mut before: Vec<_> = held.backwards().take(LastPackets::LONGEST).collect();
            before.reverse();
            before.into_iter().for_each(|(record, bytes)| noted.note(record, bytes));
            noted
        });
        let records = chunk.records.get(indices).unwrap_or_default();
        records.iter().for_each(|record| noted.note(record, &chunk.bytes));
    }

    /// What the step back to the record at `index` is; those before `noted` were noted.
    fn judge(&mut self, chunk: &mut Chunk, index: usize, noted: &mut usize) -> StepBack {
        let Some(record) = chunk.records.get(index).copied() else { return StepBack::Disorder };
        let own_ns = self.latest_ns.get(&(record.input, record.interface)).copied();
        let back_ns = own_ns.unwrap_or(self.newest_ns).saturating_sub(record.time_ns);
        if back_ns <= 0 {
            return StepBack::Disorder;
        }
        let is_far = back_ns > LONGEST_DISORDER_NS;
        self.far_steps += usize::from(is_far);
        if self.far_steps > MOST_FAR_STEPS && is_far {
            return StepBack::Clock;
        }
        let has_headers = self.had_headers && index == 0 || chunk.stretch.is_some_and(ChunkStart::has_headers_within);
        let looked_ahead = if is_far { LOOKED_FAR_AHEAD } else { LOOKED_AHEAD };
        self.look_ahead(chunk, index, looked_ahead);
        self.note(chunk, *noted..index);
        *noted = index;
        let behind =
            chunk.records.iter().skip(index).take(looked_ahead).take_while(|next| next.time_ns < self.newest_ns);
        let behind = behind.map(|record| (record, chunk.bytes.as_slice()));
        let fewest = if back_ns <= LONGEST_JITTER_NS { 1 } else { FEWEST_SHOWING };
        let shown = self.noted.as_ref().map_or(OrderShown::Nothing, |before| order_shown(fewest, before, behind));
        match shown {
            _ if is_far && self.patience == Patience::OfPart => StepBack::Clock,
            _ if is_far && shown.is_another_capture(has_headers) => StepBack::Appended,
            _ if is_far => StepBack::Clock,
            OrderShown::File if back_ns >= SHORTEST_CLOCK_STEP_NS => StepBack::Clock,
            OrderShown::File => StepBack::Jitter,
            OrderShown::Times | OrderShown::Nothing => StepBack::Disorder,
        }
    }

    fn clock_was_set(&mut self, record: &Record) {
        // Longer steps are counted where they are read.
        let is_short = self.newest_ns.saturating_sub(record.time_ns) <= LONGEST_DISORDER_NS;
        self.disorder_of(record.input).clock_steps += u64::from(is_short);
        self.latest_ns.retain(|(input, _), _| *input != record.input);
        self.newest_ns = i64::MIN;
        self.epoch = self.epoch.saturating_add(1);
    }

    fn reach(&mut self, record: &Record) {
        self.newest_ns = self.newest_ns.max(record.time_ns);
        let latest_ns = self.latest_ns.entry((record.input, record.interface)).or_insert(record.time_ns);
        *latest_ns = (*latest_ns).max(record.time_ns);
    }

    fn count(&mut self, record: &Record) {
        let step_ns = self.newest_ns.saturating_sub(record.time_ns);
        let is_too_late = self.held.is_past((self.epoch, record.time_ns));
        let disorder = self.disorder_of(record.input);
        disorder.records += 1;
        disorder.largest_step_ns = disorder.largest_step_ns.max(step_ns);
        disorder.left += u64::from(is_too_late);
        self.largest_step_ns = self.largest_step_ns.max(step_ns);
    }

    fn disorder_of(&mut self, input: u16) -> &mut OutOfTimeOrder {
        let index = usize::from(input);
        if self.disorder.len() <= index {
            self.disorder.resize(index + 1, OutOfTimeOrder::default());
        }
        &mut self.disorder[index]
    }

    /// Makes the chunk longer until enough follows on `index`, or nothing more comes.
    fn look_ahead(&mut self, chunk: &mut Chunk, index: usize, records: usize) {
        let mut more = Chunk::default();
        let is_short = |chunk: &Chunk| chunk.records.len() - index < records && chunk.bytes.len() < LARGEST_GROWN_BYTES;
        while is_short(chunk) && !self.ended && self.error.is_none() {
            match self.inner.next_chunk(&mut more) {
                Ok(true) => {
                    self.fill_times(&mut more);
                    more.records.iter().for_each(|record| push_record(chunk, record, &more.bytes));
                }
                Ok(false) => self.ended = true,
                Err(error) => self.error = Some(error),
            }
        }
    }

    /// Order and bytes of frames without a time still show something: they get the time of the frame before (the reader counts
    /// them).
    fn fill_times(&mut self, chunk: &mut Chunk) {
        // Before the first time there is: that one.
        let mut last_ns = self.last_time_ns.unwrap_or_else(|| {
            let timed = chunk.records.iter().find(|record| record.time_ns != Record::NO_TIME);
            timed.map_or(0, |record| record.time_ns)
        });
        for record in &mut chunk.records {
            if record.time_ns == Record::NO_TIME {
                record.time_ns = last_ns;
            }
            last_ns = record.time_ns;
        }
        self.last_time_ns = Some(last_ns);
    }
}

impl ChunkSource for TimeOrder {
    fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
        chunk.records.clear();
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.given_up {
                chunk.clear();
                return Ok(false);
            }
            let (settled, least_held) = self.settled();
            self.held.give_out(chunk, settled, least_held);
            if !chunk.records.is_empty() {
                return Ok(true);
            }
            if self.ended {
                chunk.clear();
                return Ok(false);
            }
            if !self.read(std::mem::take(chunk))? {
                return Ok(true);
            }
        }
    }

    fn waiting(&self) -> Option<Box<dyn ChunkSource>> {
        Some(Box::new(self.held.clone()))
    }

    fn inputs(&self) -> Vec<InputFacts> {
        let mut inputs = self.inner.inputs();
        for (facts, disorder) in inputs.iter_mut().zip(&self.disorder) {
            let appended = facts.out_of_time_order.appended;
            facts.out_of_time_order = OutOfTimeOrder { appended, ..*disorder };
            // Another capture is no step of the clock.
            facts.clock_steps_back =
                facts.clock_steps_back.saturating_sub(disorder.appended_left) + disorder.clock_steps;
        }
        inputs
    }

    fn key_log_bytes(&self) -> usize {
        self.inner.key_log_bytes()
    }

    fn consumed_bytes(&self) -> u64 {
        self.inner.consumed_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of records without frames, whose times go up and down.
    struct Jumping(u64);

    const RECORDS: i64 = 5000;

    impl ChunkSource for Jumping {
        fn next_chunk(&mut self, chunk: &mut Chunk) -> Result<bool, ReadError> {
            let first = 5000 * self.0 as i64;
            self.0 += 1;
            let jump_ns = |number: i64| if number % 2 == 1 { 30_000 } else { 0 };
            chunk.records = (first..first + RECORDS).map(|number| record(number * 10_000 - jump_ns(number))).collect();
            Ok(self.0 <= 4)
        }

        fn inputs(&self) -> Vec<InputFacts> {
            Vec::new()
        }

        fn consumed_bytes(&self) -> u64 {
            0
        }
    }

    fn record(time_ns: i64) -> Record {
        Record { time_ns, original_length: 60, link_type: 1, ..Record::default() }
    }

    #[test]
    fn each_record_is_noted_once_however_many_step_back() {
        let mut ordered = TimeOrder::new(Box::new(Jumping(0)), Patience::Little);
        let (mut chunk, mut given_out) = (Chunk::default(), 0);
        while ordered.next_chunk(&mut chunk).expect("readable") {
            given_out += chunk.records.len() as u64;
        }
        assert_eq!(given_out, 4 * RECORDS as u64);
        assert!(ordered.disorder[0].records > given_out / 3, "{:?}", ordered.disorder);
        assert_eq!(ordered.noted.map(|noted| noted.count()), Some(given_out));
    }
}

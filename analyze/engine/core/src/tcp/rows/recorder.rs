//! Makes the per-packet rows ([`crate::tcp::rows::rows`]) while packets are taken: notes what is known of each when it comes, and what is
//! known of it only later.

use std::collections::{HashMap, HashSet};

use crate::tcp::rows::rows::{FIELDS, Field, Row, RowChunk, Rows};
use crate::tcp::rtt::covering::Lengthened;

/// Rows that are packed together. What packing takes beside the values is then less than a byte a row; before it they take
/// 0.9 MB.
const ROWS_TOGETHER: usize = 2048;

/// The rows so far.
#[derive(Debug, Clone, Default)]
pub struct RowRecorder {
    packed: Rows,
    open: [Vec<Option<i64>>; FIELDS],
    later: Later,
}

/// What became known of rows after they were written. All of it is put into them at the end, in one go: looked for at once, the
/// rows of each of thousands of connections would be looked for among those of all others.
#[derive(Debug, Clone, Default)]
struct Later {
    /// By connection, packets by time and frame whose round trips a host's stall lengthened.
    stalled: HashMap<u32, HashSet<(i64, u32)>>,
    /// By connection and whether the client sent it, what acknowledgements are too high by.
    shifts: HashMap<(u32, bool), Vec<Shift>>,
}

/// The data of a direction began by so much later than acknowledgements told.
#[derive(Debug, Clone, Copy)]
struct Shift {
    /// It is so in the rows up to this one.
    before_row: usize,
    by: u64,
}

impl RowRecorder {
    /// A host's stall lengthened what these packets, by time and frame, of a connection completed.
    pub(crate) fn mark_stalled(&mut self, connection: u32, packets: HashSet<(i64, u32)>) {
        if !packets.is_empty() {
            self.later.stalled.entry(connection).or_default().extend(packets);
        }
    }

    /// The data of `side` begins by so much later than acknowledgements told.
    pub(crate) fn shift_acknowledgements(&mut self, connection: u32, side: usize, by: u64) {
        if by > 0 {
            let shift = Shift { before_row: self.packed.chunks.len() * ROWS_TOGETHER + self.open[0].len(), by };
            self.later.shifts.entry((connection, side == 1)).or_default().push(shift);
        }
    }

    /// Adds a packet.
    pub fn push(&mut self, row: &Row) {
        self.open.iter_mut().zip(row.values()).for_each(|(column, value)| column.push(*value));
        if self.open[0].len() == ROWS_TOGETHER {
            self.pack();
        }
    }

    /// All rows, with what became known of them later.
    pub fn finish(mut self) -> Rows {
        if !self.open[0].is_empty() {
            self.pack();
        }
        for (chunk, first_row) in self.packed.chunks.iter_mut().zip((0..).step_by(ROWS_TOGETHER)) {
            if !self.later.stalled.is_empty() {
                self.later.mark_stalled(chunk);
            }
            if !self.later.shifts.is_empty() {
                self.later.shift_acknowledgements(chunk, first_row);
            }
        }
        self.packed
    }

    fn pack(&mut self) {
        self.packed.chunks.push(RowChunk::of(&self.open));
        self.open.iter_mut().for_each(Vec::clear);
    }
}

impl Later {
    fn mark_stalled(&self, chunk: &mut RowChunk) {
        let packets = chunk.values(Field::TimeNs).into_iter().zip(chunk.values(Field::Frame));
        let rows = chunk.values(Field::Connection).into_iter().zip(packets);
        let mut marks = chunk.values(Field::RttLengthenedBy);
        let mut any = false;
        for ((connection, (time_ns, frame)), mark) in rows.zip(&mut marks) {
            let (Some(connection), Some(time_ns), Some(frame)) = (connection, time_ns, frame) else { continue };
            let packets = self.stalled.get(&(connection as u32));
            if packets.is_some_and(|packets| packets.contains(&(time_ns, frame as u32))) {
                *mark = Some(Lengthened::HostStall as i64);
                any = true;
            }
        }
        if any {
            chunk.replace(Field::RttLengthenedBy, &marks);
        }
    }

    fn shift_acknowledgements(&self, chunk: &mut RowChunk, first_row: usize) {
        let senders = chunk.values(Field::Connection).into_iter().zip(chunk.values(Field::FromClient));
        let mut acknowledgements = chunk.values(Field::Acknowledgement);
        let mut any = false;
        for (row, ((connection, from_client), position)) in (first_row..).zip(senders.zip(&mut acknowledgements)) {
            let (Some(connection), Some(position)) = (connection, position) else { continue };
            let shifts = self.shifts.get(&(connection as u32, from_client == Some(1)));
            for shift in shifts.into_iter().flatten().filter(|shift| row < shift.before_row) {
                *position = position.saturating_sub_unsigned(shift.by);
                any = true;
            }
        }
        if any {
            chunk.replace(Field::Acknowledgement, &acknowledgements);
        }
    }
}

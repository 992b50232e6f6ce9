//! Per-packet rows of the connections that were asked for, in the order of the capture: a column for each [`Field`].
//!
//! A long capture has millions of them, and who asks for them often wants some columns only, or one connection: rows are kept
//! packed, some thousand at a time, about 50 bytes for each, and are unpacked by column. [`crate::tcp::rows::recorder`] makes them.

use std::collections::HashSet;
use std::ops::Range;

use crate::tcp::stats::packed_ints::PackedIntegers;

/// A column. Positions are relative to the first byte of their direction; where there is a set of names, their numbers stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Field {
    /// Connection number.
    Connection,
    /// Input number.
    Input,
    /// Frame number within the input.
    Frame,
    /// Capture time, Unix nanoseconds.
    TimeNs,
    /// Sent by the client: 1, else 0.
    FromClient,
    /// What it was, see [`crate::tcp::events::sent::SentKind`].
    Kind,
    /// Why it was retransmitted, see [`crate::tcp::events::retransmission::Trigger`].
    Trigger,
    /// First position of its data.
    Sequence,
    /// What it acknowledges, in the other direction.
    Acknowledgement,
    /// Payload bytes.
    PayloadBytes,
    /// Bytes on the wire.
    WireBytes,
    /// TCP flags.
    Flags,
    /// Window it advertises, bytes.
    WindowBytes,
    /// Data in flight after it, of the direction whose data it sends or acknowledges.
    FlightBytes,
    /// Round trip it completes, nanoseconds.
    RttNs,
    /// Frame that was sampled.
    RttFrame,
    /// What lengthened it beside the path, see [`crate::tcp::rtt::covering::Lengthened`].
    RttLengthenedBy,
    /// Why it completes none though it acknowledges data, see [`crate::tcp::events::acked::Rejected`].
    RttRejected,
    /// Round trip of loss recovery that it completes, nanoseconds.
    RecoveryRttNs,
    /// Frame that was sampled for it.
    RecoveryRttFrame,
    /// How that is known, see [`crate::tcp::rtt::samples::Answered`].
    RecoveryRttMethod,
    /// Distance from the data packet before it, nanoseconds.
    SpacingNs,
    /// Bytes the receiver holds above a hole, of the direction it acknowledges.
    SackedBytes,
    /// Sequence number as in the header.
    RawSequence,
    /// Timestamp value as in the options (RFC 7323).
    TsVal,
    /// Echo reply as in the options.
    TsEcr,
    /// Identification as in the IPv4 header.
    Identification,
}

/// How many there are.
pub(crate) const FIELDS: usize = Field::Identification as usize + 1;

/// One packet's values, by field.
#[derive(Debug, Clone, Default)]
pub struct Row([Option<i64>; FIELDS]);

impl Row {
    /// Sets the value of a field.
    #[inline]
    pub fn set(&mut self, field: Field, value: Option<i64>) {
        self.0[field as usize] = value;
    }

    /// All values, in the order of the fields.
    pub fn values(&self) -> &[Option<i64>] {
        &self.0
    }
}

/// Rows packed together, a column for each field.
#[derive(Debug, Clone)]
pub(crate) struct RowChunk {
    rows: usize,
    columns: [PackedIntegers; FIELDS],
}

impl RowChunk {
    /// Packs columns of one length.
    pub fn of(columns: &[Vec<Option<i64>>; FIELDS]) -> Self {
        Self { rows: columns[0].len(), columns: std::array::from_fn(|field| PackedIntegers::of(&columns[field])) }
    }

    /// A column's values.
    pub fn values(&self, field: Field) -> Vec<Option<i64>> {
        let mut values = Vec::with_capacity(self.rows);
        self.columns[field as usize].unpack(self.rows, &mut values);
        values
    }

    /// Other values instead.
    pub fn replace(&mut self, field: Field, values: &[Option<i64>]) {
        self.columns[field as usize] = PackedIntegers::of(values);
    }

    fn wanted(&self, connections: &HashSet<u32>) -> Vec<bool> {
        let is_wanted = |number: Option<i64>| number.is_some_and(|number| connections.contains(&(number as u32)));
        self.values(Field::Connection).into_iter().map(is_wanted).collect()
    }
}

/// Which rows of a chunk are asked for.
enum Wanted {
    All,
    Some { rows: Vec<bool>, count: usize },
    None,
}

impl Wanted {
    fn of(rows: Vec<bool>) -> Self {
        match rows.iter().filter(|is_wanted| **is_wanted).count() {
            0 => Self::None,
            count if count == rows.len() => Self::All,
            count => Self::Some { rows, count },
        }
    }

    fn count(&self, chunk: &RowChunk) -> usize {
        match self {
            Self::All => chunk.rows,
            Self::Some { count, .. } => *count,
            Self::None => 0,
        }
    }

    /// Of those asked for the ones at these places.
    fn within(self, places: &Range<usize>, chunk: &RowChunk) -> Self {
        let rows = match self {
            Self::All => vec![true; chunk.rows],
            Self::Some { rows, .. } => rows,
            Self::None => return Self::None,
        };
        let mut next = 0..;
        let at_place = |is_wanted| is_wanted && next.next().is_some_and(|place| places.contains(&place));
        Self::of(rows.into_iter().map(at_place).collect())
    }
}

/// Which rows are asked for.
pub struct Selection {
    chunks: Vec<Wanted>,
}

/// All rows.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub(crate) chunks: Vec<RowChunk>,
}

impl Rows {
    /// How many.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.rows).sum()
    }

    /// There is no row.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Puts further rows behind these, whose connections and inputs are numbered behind so many.
    pub fn append(&mut self, mut next: Self, connections: u32, inputs: u16) {
        for chunk in &mut next.chunks {
            chunk.columns[Field::Connection as usize].add(connections);
            chunk.columns[Field::Input as usize].add(u32::from(inputs));
        }
        self.chunks.append(&mut next.chunks);
    }

    /// A column of all rows.
    pub fn values(&self, field: Field) -> Vec<Option<i64>> {
        self.selected(field, &self.select(None, None))
    }

    /// The rows of these connections, of all for none; of those the ones at these places, or all.
    pub fn select(&self, connections: Option<&[u32]>, places: Option<Range<usize>>) -> Selection {
        let connections: Option<HashSet<u32>> = connections.map(|numbers| numbers.iter().copied().collect());
        let mut before = 0;
        let wanted = |chunk: &RowChunk| {
            let wanted = connections.as_ref().map_or(Wanted::All, |numbers| Wanted::of(chunk.wanted(numbers)));
            let Some(Range { start, end }) = &places else { return wanted };
            let first = before;
            before += wanted.count(chunk);
            if *start <= first && before <= *end {
                wanted
            } else {
                wanted.within(&(start.saturating_sub(first)..end.saturating_sub(first)), chunk)
            }
        };
        Selection { chunks: self.chunks.iter().map(wanted).collect() }
    }

    /// A column of the rows selected. Numbers without a sign come out by their bits (`as u64`).
    pub fn selected(&self, field: Field, selection: &Selection) -> Vec<Option<i64>> {
        let chunks = || self.chunks.iter().zip(&selection.chunks);
        let mut values = Vec::with_capacity(chunks().map(|(chunk, wanted)| wanted.count(chunk)).sum());
        let mut of_chunk = Vec::new();
        for (chunk, wanted) in chunks() {
            let column = &chunk.columns[field as usize];
            match wanted {
                Wanted::All => column.unpack(chunk.rows, &mut values),
                Wanted::Some { rows, .. } => {
                    of_chunk.clear();
                    column.unpack(chunk.rows, &mut of_chunk);
                    let kept = of_chunk.iter().zip(rows).filter(|(_, is_wanted)| **is_wanted);
                    values.extend(kept.map(|(value, _)| *value));
                }
                Wanted::None => {}
            }
        }
        values
    }
}

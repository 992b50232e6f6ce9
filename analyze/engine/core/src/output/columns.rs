//! Results as columns: one value for each connection, packet or second. The binding turns them into Arrow arrays.

use crate::analysis::results::Analysis;
use crate::output::describe::connection::connection;
use crate::output::describe::endpoint::endpoint;
use crate::output::describe::visitor::{Abridged, Visitor};
use crate::output::fields::field::{Field as Words, field};
use crate::output::fixed::thousandths;
use crate::output::key::{Key, key};
use crate::tcp::connection::environment::Environment;
use crate::tcp::events::outcome_kind::OutcomeKind;
use crate::tcp::outcome::groups;
use crate::tcp::rates::syn_series::OpeningCounts;
use crate::tcp::summary::summarize;
use crate::tcp::summary::summary::ConnectionSummary;

/// Values of one column, none where something could not be measured.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Unsigned integers.
    U64(Vec<Option<u64>>),
    /// Signed integers.
    I64(Vec<Option<i64>>),
    /// Floats.
    F64(Vec<Option<f64>>),
    /// Yes or no.
    Bool(Vec<Option<bool>>),
    /// Texts.
    Text(Vec<Option<String>>),
    /// Texts out of a small set.
    Category {
        /// Places in `names`.
        codes: Vec<Option<u8>>,
        /// All that there may be.
        names: &'static [&'static str],
    },
}

/// A column with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name: the path in the JSON contract, joined by underscores.
    pub name: String,
    /// Values.
    pub values: ColumnValues,
}

impl Column {
    pub(super) fn new(name: &str, values: ColumnValues) -> Self {
        Self { name: name.to_owned(), values }
    }
}

impl Analysis {
    /// One row for each connection; of all its columns those named, or all.
    pub fn connection_columns(&self, names: Option<&[&str]>) -> Vec<Column> {
        self.columns_of(self.connections.iter().map(|summary| &**summary), names)
    }

    /// The same of the connections at these places, in this order; places beyond the end are left out.
    pub fn connection_rows(&self, rows: &[usize], names: Option<&[&str]>) -> Vec<Column> {
        self.columns_of(rows.iter().filter_map(|&row| self.connections.get(row)).map(|summary| &**summary), names)
    }

    fn columns_of<'a>(
        &self,
        summaries: impl Iterator<Item = &'a ConnectionSummary>,
        names: Option<&[&str]>,
    ) -> Vec<Column> {
        let mut collector = Collector::default();
        connection(&empty_connection(), &mut collector);
        collector.columns.iter_mut().for_each(clear);
        collector.wanted = collector
            .columns
            .iter()
            .map(|column| names.is_none_or(|names| names.contains(&column.name.as_str())))
            .collect();
        for summary in summaries {
            collector.cursor = 0;
            connection(summary, &mut collector);
        }
        let wanted = collector.wanted;
        collector.columns.into_iter().zip(wanted).filter_map(|(column, wanted)| wanted.then_some(column)).collect()
    }

    /// Places of the connections with the most bytes on the wire, the largest first.
    pub fn largest_connections(&self, most: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.connections.len()).collect();
        let key = |&place: &usize| (std::cmp::Reverse(self.connections[place].wire_bytes()), place);
        if most < places.len() {
            places.select_nth_unstable_by_key(most, key);
            places.truncate(most);
        }
        places.sort_unstable_by_key(key);
        places
    }

    /// One row for each second in which a connection was opened or reset.
    pub fn syn_columns(&self) -> Vec<Column> {
        let seconds = self.openings.iter().map(|(second, _)| second.checked_mul(1_000_000_000)).collect();
        let counts = |(words, count): &(Words, fn(&OpeningCounts) -> u32)| {
            let values = self.openings.iter().map(|(_, counts)| Some(u64::from(count(&counts)))).collect();
            Column::new(words.paths, ColumnValues::U64(values))
        };
        let second = Column::new(SECOND.paths, ColumnValues::I64(seconds));
        std::iter::once(second).chain(SYN_COUNTS.iter().map(counts)).collect()
    }
}

/// The time of a row of [`Analysis::syn_columns`].
pub(super) const SECOND: Words = field("second_ns", "start of the second, Unix");

/// What a column of counts means, and its value.
type SynCount = (Words, fn(&OpeningCounts) -> u32);

/// Its counts.
pub(super) const SYN_COUNTS: [SynCount; 5] = [
    (field("syn", "SYNs, retransmissions included"), |counts| counts.syn),
    (field("syn_ack", "SYN-ACKs, retransmissions included"), |counts| counts.syn_ack),
    (field("syn_retransmissions", "retransmissions of either"), |counts| counts.syn_retransmissions),
    (field("established", "handshakes completed"), |counts| counts.established),
    (field("reset", "connections reset"), |counts| counts.reset),
];

fn clear(column: &mut Column) {
    match &mut column.values {
        ColumnValues::U64(values) => values.clear(),
        ColumnValues::I64(values) => values.clear(),
        ColumnValues::F64(values) => values.clear(),
        ColumnValues::Bool(values) => values.clear(),
        ColumnValues::Text(values) => values.clear(),
        ColumnValues::Category { codes, .. } => codes.clear(),
    }
}

/// A connection without packets, for the names of the columns.
pub(super) fn empty_connection() -> Box<ConnectionSummary> {
    let packet = crate::packet::Packet { ip_version: 4, ..Default::default() };
    let mut connection = crate::tcp::connection::connection::Connection::new(0, &packet, &[]);
    summarize::summary_of(&mut connection, &Environment::default())
}

/// Gathers columns: the n-th value of a description belongs to the n-th column.
#[derive(Default)]
struct Collector {
    columns: Vec<Column>,
    path: Vec<Key>,
    cursor: usize,
    /// Which columns are kept; all while this is empty.
    wanted: Vec<bool>,
}

/// Makes the method that adds a value to the column at the cursor.
macro_rules! adder {
    ($method:ident, $variant:ident, $type:ty) => {
        fn $method(&mut self, key: Key, value: Option<$type>) {
            if self.cursor == self.columns.len() {
                let name = self.path.iter().copied().chain([key]).map(Key::name).collect::<Vec<_>>().join("_");
                self.columns.push(Column { name, values: ColumnValues::$variant(Vec::new()) });
            }
            if self.is_wanted(0)
                && let ColumnValues::$variant(values) = &mut self.columns[self.cursor].values
            {
                values.push(value);
            }
            self.cursor += 1;
        }
    };
}

impl Collector {
    adder!(add_unsigned, U64, u64);
    adder!(add_signed, I64, i64);
    adder!(add_float, F64, f64);
    adder!(add_flag, Bool, bool);
    adder!(add_text, Text, String);

    /// The column so many places behind the cursor is kept.
    fn is_wanted(&self, place: usize) -> bool {
        self.wanted.get(self.cursor + place) != Some(&false)
    }
}

impl Visitor for Collector {
    fn object(&mut self, key: Key, _present: bool) -> bool {
        self.path.push(key);
        true
    }

    fn optional_object(&mut self, key: Key, present: bool) -> bool {
        self.object(key, present)
    }

    fn known_instant(&mut self, key: Key, value: Option<i64>) {
        self.add_signed(key, value);
    }

    fn end(&mut self) {
        self.path.pop();
    }

    fn integer(&mut self, key: Key, value: Option<u64>) {
        self.add_unsigned(key, value);
    }

    fn instant(&mut self, key: Key, value: i64) {
        self.add_signed(key, Some(value));
    }

    fn seconds(&mut self, key: Key, value_ns: Option<f64>) {
        self.add_float(key, value_ns.map(|value| value / 1e9));
    }

    fn exact_seconds(&mut self, key: Key, value_ns: Option<i64>) {
        self.add_float(key, value_ns.map(|value| value as f64 / 1e9));
    }

    fn number(&mut self, key: Key, value: Option<f64>) {
        self.add_float(key, value);
    }

    fn word(&mut self, key: Key, value: Option<&'static str>) {
        self.add_text(key, value.map(str::to_owned));
    }

    fn text(&mut self, key: Key, value: Option<&str>) {
        self.add_text(key, value.map(str::to_owned));
    }

    fn endpoint(&mut self, key: Key, summary: &ConnectionSummary, side: usize) {
        self.add_text(key, Some(endpoint(summary, side)));
    }

    fn flag(&mut self, key: Key, value: Option<bool>) {
        self.add_flag(key, value);
    }

    fn texts(&mut self, key: Key, values: &[String]) {
        self.add_text(key, (!values.is_empty()).then(|| values.join(", ")));
    }

    fn reasons(&mut self, _key: Key, _reasons: impl Iterator<Item = (&'static str, &'static str)>) {}

    fn integers(&mut self, _key: Key, _values: impl Iterator<Item = u64>) {}

    fn instants(&mut self, _key: Key, _values: impl Iterator<Item = i64>) {}

    fn words(&mut self, _key: Key, _values: impl Iterator<Item = &'static str>) {}

    fn counts<'a>(&mut self, _key: Key, _counts: impl Iterator<Item = (&'a str, u64)>) {}

    fn records<T>(
        &mut self,
        _key: Key,
        _items: Option<impl Iterator<Item = T>>,
        _describe: impl FnMut(Option<T>, &mut Self),
    ) {
    }

    fn in_document_only(&mut self, _describe: impl FnOnce(&mut Self)) {}

    fn abridged(&mut self, part: Abridged, summary: &ConnectionSummary, _describe: impl FnOnce(&mut Self)) {
        match part {
            Abridged::Outcome => self.outcome(summary),
            Abridged::IcmpErrors => {
                let errors = summary.icmp_errors();
                let count = errors.map_or(0, |errors| errors.list.len() as u64 + errors.not_listed);
                self.integer(key!("icmp_errors"), Some(count));
            }
            Abridged::Verdict => self.verdict(summary),
        }
    }
}

impl Collector {
    fn outcome(&mut self, summary: &ConnectionSummary) {
        // Words are made where they are wanted: of a scan there may be a million.
        let outcome = if self.is_wanted(1) || self.is_wanted(2) { summary.outcome() } else { None };
        self.object(key!("outcome"), true);
        self.word(key!("kind"), groups::outcome_kind(summary).map(OutcomeKind::name));
        self.number(key!("confidence"), outcome.as_ref().map(|outcome| thousandths(outcome.confidence)));
        self.text(key!("sentence"), outcome.as_ref().map(|outcome| outcome.sentence.as_str()));
        self.end();
    }

    fn verdict(&mut self, summary: &ConnectionSummary) {
        let decision = summary.decision();
        self.object(key!("verdict"), true);
        self.word(key!("factor"), decision.map(|decision| decision.factor.name()));
        self.number(key!("share"), decision.map(|decision| thousandths(decision.share)));
        self.number(key!("confidence"), decision.map(|decision| thousandths(decision.confidence)));
        let sentence = if self.is_wanted(0) { summary.verdict_sentence() } else { None };
        self.text(key!("sentence"), sentence.as_deref());
        self.end();
    }
}

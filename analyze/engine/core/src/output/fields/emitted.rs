//! The fields that a description has, with their kinds: a visitor that keeps their paths alone.

use crate::output::describe::visitor::Visitor;
use crate::output::key::{Key, Written};
use crate::tcp::summary::summary::ConnectionSummary;

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A count.
    Integer,
    /// Unix nanoseconds.
    Instant,
    /// A float.
    Number,
    /// A string.
    Text,
    /// Yes or no.
    Flag,
    /// Strings.
    Texts,
    /// Counts.
    Integers,
    /// Instants.
    Instants,
    /// Counts by name.
    Counts,
    /// Strings by name.
    Reasons,
    /// An object.
    Object,
    /// Objects.
    Records,
}

impl ValueKind {
    /// Its name for other programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Instant => "instant",
            Self::Number => "number",
            Self::Text => "text",
            Self::Flag => "flag",
            Self::Texts => "texts",
            Self::Integers => "integers",
            Self::Instants => "instants",
            Self::Counts => "counts",
            Self::Reasons => "reasons",
            Self::Object => "object",
            Self::Records => "records",
        }
    }
}

/// A field that results have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// Where it is: `connections[].rtt.min_s`.
    pub path: String,
    /// What it holds.
    pub kind: ValueKind,
    /// When it is there.
    pub written: Written,
}

/// Gathers them.
#[derive(Debug, Default)]
pub(super) struct Gatherer {
    pub found: Vec<Emitted>,
    within: Vec<String>,
}

impl Gatherer {
    fn add(&mut self, key: Key, kind: ValueKind) {
        let path = self.within.iter().map(String::as_str).chain([key.name()]).collect::<Vec<_>>().join(".");
        self.found.push(Emitted { path, kind, written: key.written() });
    }
}

/// Makes a method that adds a field of a kind.
macro_rules! adders {
    ($($method:ident($($argument:ty),+) $kind:ident;)+) => {
        $(fn $method(&mut self, key: Key, $(_: $argument),+) {
            self.add(key, ValueKind::$kind);
        })+
    };
}

impl Visitor for Gatherer {
    adders! {
        known_instant(Option<i64>) Instant;
        instant(i64) Instant;
        integer(Option<u64>) Integer;
        seconds(Option<f64>) Number;
        exact_seconds(Option<i64>) Number;
        number(Option<f64>) Number;
        word(Option<&'static str>) Text;
        text(Option<&str>) Text;
        endpoint(&ConnectionSummary, usize) Text;
        flag(Option<bool>) Flag;
        texts(&[String]) Texts;
        words(impl Iterator<Item = &'static str>) Texts;
        integers(impl Iterator<Item = u64>) Integers;
        instants(impl Iterator<Item = i64>) Instants;
        reasons(impl Iterator<Item = (&'static str, &'static str)>) Reasons;
    }

    fn counts<'a>(&mut self, key: Key, _counts: impl Iterator<Item = (&'a str, u64)>) {
        self.add(key, ValueKind::Counts);
    }

    fn object(&mut self, key: Key, _present: bool) -> bool {
        self.add(key, ValueKind::Object);
        self.within.push(key.name().to_owned());
        true
    }

    fn optional_object(&mut self, key: Key, present: bool) -> bool {
        self.object(key, present);
        if let Some(object) = self.found.last_mut() {
            object.written = Written::IfKnown;
        }
        true
    }

    fn end(&mut self) {
        self.within.pop();
    }

    fn records<T>(
        &mut self,
        key: Key,
        _items: Option<impl Iterator<Item = T>>,
        mut describe: impl FnMut(Option<T>, &mut Self),
    ) {
        self.add(key, ValueKind::Records);
        self.within.push(format!("{}[]", key.name()));
        describe(None, self);
        self.within.pop();
    }
}

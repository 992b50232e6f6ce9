//! The fields of the results with all that is known of them: kinds from the description, words from the sections.

use std::collections::BTreeMap;

use crate::analysis::results::Analysis;
use crate::output::columns::{SECOND, SYN_COUNTS, empty_connection};
use crate::output::describe::connection::connection;
use crate::output::describe::document::{head, tail};
use crate::output::describe::outcome::around;
use crate::output::describe::visitor::Visitor;
use crate::output::fields::emitted::{Emitted, Gatherer, ValueKind};
use crate::output::fields::field::{Field, Section};
use crate::output::fields::{beyond, capture, direction, http2, quic, requests, verdict};
use crate::output::key::{Written, key};
use crate::output::packets;

/// All sections, in the order of the documentation.
pub const SECTIONS: [Section; 29] = [
    capture::DOCUMENT,
    capture::INPUTS,
    super::connection::CONNECTION,
    direction::DIRECTION,
    direction::LOSS,
    direction::RTT,
    direction::SPACING,
    direction::WINDOW,
    super::connection::TLS,
    requests::REQUESTS,
    requests::REQUEST_TOTALS,
    requests::REQUEST_SERVERS,
    http2::HTTP2,
    super::connection::LEDGER,
    verdict::VERDICT,
    verdict::EVIDENCE,
    verdict::OUTCOME,
    capture::OUTCOMES,
    capture::UNANSWERED_SYNS,
    capture::SHARED_LIMITS,
    beyond::LOOKUPS,
    beyond::LOOKUP_TOTALS,
    beyond::WAITS,
    beyond::FLOWS,
    beyond::FLOW_DIRECTION,
    quic::QUIC,
    beyond::TUNNELS,
    beyond::NEIGHBOURS,
    beyond::PROTOCOLS,
];

/// A field of a section.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its path within the section; `*` stands for each value.
    pub path: &'static str,
    /// What is said of it.
    pub words: Field,
    /// All words that it may be, or the names that `*` stands for.
    pub values: Vec<&'static str>,
    /// What it is, at the first place of its section; none if it is nowhere.
    pub emitted: Option<Emitted>,
}

/// A section of the document, or a table.
#[derive(Debug, Clone)]
pub struct DescribedSection {
    /// Its name.
    pub name: &'static str,
    /// Where it is in the document, empty for the document itself; nowhere, if it is a table.
    pub places: Vec<String>,
    /// In order.
    pub fields: Vec<Described>,
}

/// Everything that the results have.
pub fn catalogue() -> Vec<DescribedSection> {
    let emitted = emitted();
    let of = |section: &Section| DescribedSection {
        name: section.name,
        places: section.places(),
        fields: described(section, &emitted),
    };
    let syns = [SECOND].into_iter().chain(SYN_COUNTS.into_iter().map(|(words, _)| words));
    let tables =
        [table("packets", packets::described()), table("syns", syns.map(|words| (words, ValueKind::Integer, &[][..])))];
    SECTIONS.iter().map(of).chain(tables).collect()
}

fn table(
    name: &'static str,
    columns: impl Iterator<Item = (Field, ValueKind, &'static [&'static str])>,
) -> DescribedSection {
    let of = |(words, kind, values): (Field, ValueKind, &'static [&'static str])| Described {
        path: words.paths,
        words,
        values: values.to_vec(),
        emitted: Some(Emitted { path: words.paths.to_owned(), kind, written: Written::Always }),
    };
    DescribedSection { name, places: Vec::new(), fields: columns.map(of).collect() }
}

/// The fields of a section, in order.
pub fn described(section: &Section, emitted: &BTreeMap<String, Emitted>) -> Vec<Described> {
    let place = section.places().swap_remove(0);
    let of = |field: &Field, path: &'static str| {
        let values = field.values.map(|values| values()).unwrap_or_default();
        let first = path.replace('*', values.first().copied().unwrap_or_default());
        Described { path, words: *field, values, emitted: emitted.get(&joined(&place, &first)).cloned() }
    };
    section.fields.iter().flat_map(|field| field.paths.split(", ").map(move |path| of(field, path))).collect()
}

/// A path within an object at another path.
pub(super) fn joined(place: &str, path: &str) -> String {
    if place.is_empty() { path.to_owned() } else { format!("{place}.{path}") }
}

/// All fields that the document has, by their paths.
pub fn emitted() -> BTreeMap<String, Emitted> {
    let mut gatherer = Gatherer::default();
    let nothing = Analysis::default();
    head(&nothing, "", &[], &mut gatherer);
    gatherer.records(key!("connections"), None::<std::iter::Empty<()>>, |_, gatherer| {
        connection(&empty_connection(), gatherer);
        around(None, None, gatherer);
    });
    tail(&nothing, true, &mut gatherer);
    gatherer.found.into_iter().map(|found| (found.path.clone(), found)).collect()
}

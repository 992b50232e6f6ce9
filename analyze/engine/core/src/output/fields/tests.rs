//! Every field is described, and nothing that is not there. A field that only these tests have is everywhere.
//!
//! Subjects: `output/fields/catalogue.rs`, `output/fields/emitted.rs`, `output/fields/field.rs`,
//! `output/fields/direction.rs`.

use std::collections::BTreeSet;

use crate::output::describe::visitor::Visitor;
use crate::output::fields::catalogue::{Described, SECTIONS, described, emitted, joined};
use crate::output::fields::emitted::{Gatherer, ValueKind};
use crate::output::fields::field::{Section, field};
use crate::output::key::{Written, key};

/// All paths that a section describes, `*` replaced by each value.
fn paths(section: &Section) -> Vec<String> {
    let of = |found: Described, place: &str| match found.path.contains('*') {
        true => found.values.iter().map(|value| joined(place, &found.path.replace('*', value))).collect(),
        false => vec![joined(place, found.path)],
    };
    let at = |place: String| described(section, &emitted()).into_iter().flat_map(move |found| of(found, &place));
    section.places().into_iter().flat_map(at).collect()
}

#[test]
fn every_field_is_described_once_and_every_description_is_of_a_field() {
    let all: Vec<String> = SECTIONS.iter().flat_map(paths).collect();
    let distinct: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(all.len(), distinct.len());
    let fields: BTreeSet<String> = emitted().into_keys().collect();
    assert_eq!(fields.difference(&distinct).collect::<Vec<_>>(), Vec::<&String>::new(), "without a description");
    assert_eq!(distinct.difference(&fields).collect::<Vec<_>>(), Vec::<&String>::new(), "in no document");
}

#[test]
fn what_is_null_is_not_left_out_and_the_other_way_round() {
    for section in SECTIONS {
        for found in described(&section, &emitted()) {
            let is_left_out = found.emitted.is_some_and(|emitted| emitted.written != Written::Always);
            let place = (section.name, found.path);
            assert!(!(is_left_out && found.words.null.is_some()), "null, and never there: {place:?}");
            assert!(is_left_out || found.words.left_out.is_none(), "left out, and always there: {place:?}");
        }
    }
}

#[test]
fn a_field_described_where_it_is_measured_has_its_kind_and_unit() {
    let mut gatherer = Gatherer::default();
    gatherer.records(key!("made_up"), Some([1.5].into_iter()), |value, visitor| {
        visitor.number(key!("made_up_bps", IfKnown), value);
    });
    let emitted = gatherer.found.into_iter().map(|found| (found.path.clone(), found)).collect();
    const FIELDS: &[crate::output::fields::field::Field] = &[field("made_up_bps", "what was made up")];
    let section = Section { name: "made_up", at: &["made_up[]"], fields: FIELDS };
    let found = described(&section, &emitted);
    let kinds = found.iter().filter_map(|one| one.emitted.as_ref()).map(|emitted| (emitted.kind, emitted.written));
    assert_eq!(kinds.collect::<Vec<_>>(), [(ValueKind::Number, Written::IfKnown)]);
    assert_eq!(found[0].words.unit_of(found[0].path), "bit/s");
}

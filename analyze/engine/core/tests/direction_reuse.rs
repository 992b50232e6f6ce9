//! A direction's conversation state that is used again for another connection is as new: whatever packets made of it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::soup::talk::soup as soup_of;
use crate::soup::ways::compare;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use vmtrace_core::tcp::direction::direction::Live;
use vmtrace_core::tcp::flow::table::Shard;

/// What no packet soup makes dirty is made so by hand: a snap length that cuts reports, a tail loss probe, a first flight that was lost.
fn dirty_by_hand() -> Live {
    let mut live = Live::default();
    live.acks.reports_are_cut = true;
    live.loss.probe_outstanding = true;
    live.loss.begins_with_repeat = true;
    live
}

/// The fields of a record, each with all that is in it, as text: `acks.scoreboard` stands by itself.
fn fields(live: &Live) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::<String, String>::new();
    let (mut group, mut field) = (String::new(), String::new());
    for line in format!("{live:#?}").lines() {
        let depth = line.len() - line.trim_start().len();
        let name = line.trim_start().split(':').next().unwrap_or_default();
        match depth {
            4 => (group, field) = (name.to_owned(), name.to_owned()),
            8 if is_group(&group) => field = format!("{group}.{name}"),
            _ => {}
        }
        fields.entry(field.clone()).or_default().push_str(line.trim_start());
    }
    // What is left are the lines that begin and end a record.
    fields.retain(|name, _| name.ends_with(|letter: char| letter.is_ascii_alphanumeric()) && !is_group(name));
    fields
}

fn is_group(name: &str) -> bool {
    ["size", "acks", "loss", "rates", "capture"].contains(&name)
}

#[test]
fn a_renewed_direction_is_as_new_whatever_was_in_it() {
    let new = fields(&Live::default());
    let dirty = RefCell::new(BTreeSet::new());
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for round in 0..400_u64 {
        let tree = proptest::collection::vec(any::<u8>(), 8..400).new_tree(&mut runner).unwrap();
        let renew = |number: u64, shard: &mut Shard| {
            if number < 10 + round % 60 {
                return;
            }
            let lives = shard.in_progress().flat_map(|connection| connection.directions.iter_mut());
            for live in lives.filter_map(|direction| direction.live.as_deref_mut()) {
                let before = fields(live);
                dirty.borrow_mut().extend(before.into_iter().filter(|(name, text)| new.get(name) != Some(text)));
                live.renew();
                assert_eq!(fields(live), new);
            }
        };
        // That both ways differ once one of them has forgotten everything is no matter here.
        let _ = compare(&soup_of(&tree.current()), renew);
    }
    let mut by_hand = dirty_by_hand();
    dirty.borrow_mut().extend(fields(&by_hand).into_iter().filter(|(name, text)| new.get(name) != Some(text)));
    by_hand.renew();
    assert_eq!(fields(&by_hand), new);
    let dirty: BTreeSet<String> = dirty.into_inner().into_iter().map(|(name, _)| name).collect();
    let clean: Vec<_> = new.keys().filter(|name| !dirty.contains(*name)).collect();
    assert!(clean.is_empty(), "no soup made these dirty: {clean:?}");
}

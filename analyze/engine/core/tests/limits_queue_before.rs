//! A queue between the sender and a capture that is right beside it (docs/verdict.md, "Rounds"): behind the link that limits, as at
//! the host of a virtual machine or behind a router's uplink.
//!
//! Subjects: `tcp/connection/loops.rs`.

use crate::playbook;
use crate::playbook::modelled::*;
use vmtrace_core::tcp::events::factor::Factor;

fn behind_its_link(transfer: Transfer) -> Transfer {
    Transfer { behind_link: true, ..transfer }
}

/// What a window of a hundred segments leaves waiting before a link that takes half a millisecond for each.
fn with_a_queue_that_never_drains() -> Transfer {
    Transfer { window: |acknowledged| (10 + acknowledged).min(100), serialization_ms: 0.5, ..Transfer::default() }
}

#[test]
fn behind_the_link_that_limits_the_path_is_told_as_before_it() {
    for transfer in [path_limited(), with_a_queue_that_never_drains()] {
        let (factor, confidence) = behind_its_link(transfer.clone()).verdict();
        assert_eq!(factor, Factor::BottleneckBandwidth);
        assert!(confidence > 0.8, "{confidence}");
        let [before, behind] = [transfer.clone(), behind_its_link(transfer)].map(|one| one.share(factor));
        assert!((before - behind).abs() < 0.15, "{before} before it, {behind} behind");
    }
}

#[test]
fn what_is_in_flight_is_known_behind_the_link_too() {
    let summary = behind_its_link(with_a_queue_that_never_drains()).summary();
    let most_bytes = summary.directions[playbook::CLIENT].flight.map_or(0, |(_, most)| most.get());
    assert!((95_000..=105_000).contains(&most_bytes), "{most_bytes}");
}

#[test]
fn a_link_without_a_queue_changes_nothing() {
    for transfer in [window_limited(), send_buffer_limited(), growing_slowly(), written_in_pieces()] {
        assert_eq!(behind_its_link(transfer.clone()).verdict(), transfer.verdict());
    }
}

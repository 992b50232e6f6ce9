//! Acknowledgements that wait in a queue of their own direction (docs/verdict.md, "Full direction of the ACKs").
//!
//! Subjects: `tcp/limits/ack_wait.rs`, `tcp/verdict/factors/ack_path_full.rs`.

use crate::playbook::modelled::*;
use vmtrace_core::tcp::events::factor::Factor;

/// A window that grows by a segment a round trip, whose acknowledgements wait for up to 200 ms behind what others send: a queue that
/// fills and drains, in two seconds.
fn behind_an_upload() -> Transfer {
    Transfer { acks_behind_others_ms: |at_ms| (at_ms.rem_euclid(2000.0) - 1000.0).abs() / 5.0, ..growing_slowly() }
}

#[test]
fn what_acknowledgements_wait_for_is_told_where_it_is_half_of_the_round_trip() {
    // Its queue drains again and again, and a clock's rate is sure when a second and more has passed.
    let share = behind_an_upload().share(Factor::AckPathFull);
    assert!(share > 0.3, "{share}");
}

#[test]
fn without_timestamps_nobody_knows_in_which_direction_the_queue_is() {
    for transfer in at_both_ends(Transfer { timestamps: false, ..behind_an_upload() }) {
        assert_eq!(transfer.share(Factor::AckPathFull), 0.0);
    }
}

#[test]
fn a_queue_of_the_data_is_no_wait_of_acknowledgements() {
    let behind_others = Transfer { behind_others_ms: 150.0, ..growing_slowly() };
    for transfer in [behind_others, path_limited()].into_iter().flat_map(at_both_ends) {
        assert_eq!(transfer.share(Factor::AckPathFull), 0.0);
    }
}

#[test]
fn a_full_link_is_the_limit_whatever_acknowledgements_wait_for() {
    let full = Transfer {
        acks_behind_others_ms: |_| 60.0,
        window: |acknowledged| (10 + acknowledged).min(400),
        ..path_limited()
    };
    for transfer in at_both_ends(full) {
        assert_eq!(transfer.verdict().0, Factor::BottleneckBandwidth, "{}", transfer.beside_sender);
    }
}

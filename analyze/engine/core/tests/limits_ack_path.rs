//! Acknowledgements that wait in a queue of their own direction (docs/verdict.md, "Full direction of the ACKs").
//!
//! Subjects: `tcp/limits/ack_wait.rs`, `tcp/verdict/factors/ack_path_full.rs`.

use crate::playbook;

use playbook::modelled::*;
use vmtrace_core::tcp::events::factor::Factor;

/// A window that grows by a segment a round trip, whose acknowledgements wait for 150 ms behind what others send.
fn behind_an_upload() -> Transfer {
    Transfer { acks_behind_others_ms: 150.0, ..growing_slowly() }
}

#[test]
fn what_acknowledgements_wait_for_is_told_at_both_ends() {
    for transfer in at_both_ends(behind_an_upload()) {
        let share = transfer.share(Factor::AckPathFull);
        // At the sender a clock's rate is sure when a second and more has passed.
        assert!(share > 0.7, "{share} at the sender: {}", transfer.beside_sender);
        let (factor, confidence) = transfer.verdict();
        assert_eq!(factor, Factor::AckPathFull);
        assert!(confidence <= 0.8, "{confidence}");
    }
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
    let full =
        Transfer { acks_behind_others_ms: 60.0, window: |acknowledged| (10 + acknowledged).min(400), ..path_limited() };
    for transfer in at_both_ends(full) {
        assert_eq!(transfer.verdict().0, Factor::BottleneckBandwidth, "{}", transfer.beside_sender);
    }
}

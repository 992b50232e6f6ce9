//! Packet soup as capture files through whole analyses: nothing fails, and what is counted in two ways is the same.
//!
//! The fuzz target `soup_analysis` does the same with bytes that coverage leads (CONTRIBUTING.md).
//!
//! Subjects: `analysis/reading.rs`, `analysis/time_order.rs`, `tcp/connection/acceptable.rs`, `tcp/outcome/mod.rs`,
//! `tcp/requests/exchanges.rs`.

use crate::playbook::{analysis_of_files, check_consistency, json_of};
use crate::soup::file::pcap;
use crate::soup::talk::soup as soup_of;
use proptest::prelude::*;
use vmtrace_core::analysis::Options;

proptest! {
    #![proptest_config(crate::captures::cases(60))]

    #[test]
    fn whatever_hosts_and_devices_do_the_counts_agree(
        data in proptest::collection::vec(any::<u8>(), 8..400),
        snap_length in prop_oneof![Just(65_535usize), 54usize..160],
    ) {
        let soup = soup_of(&data);
        let analysis = analysis_of_files(vec![pcap(&soup.capture, snap_length)], &Options::default());
        check_consistency(&analysis);
        prop_assert_eq!(analysis.inputs[0].facts.packets, soup.capture.segments.len() as u64);
        let document: serde_json::Value = serde_json::from_str(&json_of(&analysis)).unwrap();
        for connection in document["connections"].as_array().unwrap() {
            prop_assert!(connection["outcome"].is_null() || connection["outcome"]["sentence"].is_string());
        }
    }
}

/// What coverage-led bytes seldom meet: each strange step twice, between runs of steady data.
#[test]
fn each_strange_step_leaves_counts_that_agree() {
    const RUN: [u8; 5] = [0, 0, 11, 0, 0];
    for (which, byte) in (0..5).flat_map(|which| [0, 7, 64, 99, 130, 255].map(|byte| (which, byte))) {
        let step = [0, 43, 8, which, byte, byte ^ 0x5a, 3, byte, 9];
        let data = [&[0, 0, 0, 0, 0][..], &RUN, &step, &RUN, &step, &RUN].concat();
        let analysis = analysis_of_files(vec![pcap(&soup_of(&data).capture, 65_535)], &Options::default());
        check_consistency(&analysis);
        assert!(!analysis.connections.is_empty());
    }
}

//! Whatever the packets: analysis ends, nothing panics, and the numbers agree with one another.
//!
//! Subjects: `analysis/stage.rs`, `analysis/reading.rs`, `tcp/connection/connection.rs`, `tcp/connection/groups.rs`,
//! `tcp/direction/direction.rs`, `tcp/summary/summarize.rs`.

use crate::playbook::captures::cases;
use crate::playbook::hostile::{file, frames, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::tcp::rows::rows::Field;

fn analysed(file: Vec<u8>, threads: usize) -> Analysis {
    analysis_of_files(vec![file], &Options { threads, ..Options::default() })
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn any_packets_give_consistent_numbers(lines in lines(120)) {
        let analysis = analysed(file(&frames(&lines)), 1);
        check_consistency(&analysis);
        let json: serde_json::Value = serde_json::from_str(&json_of(&analysis)).unwrap();
        prop_assert_eq!(json["connections"].as_array().map(Vec::len), Some(analysis.connections.len()));
        for column in analysis.connection_columns(None) {
            prop_assert!(!column.name.is_empty());
        }
    }

    #[test]
    fn rows_of_any_packets_are_one_for_each_packet_kept(lines in lines(80)) {
        let options = Options { detail_connections: (1..100).collect(), ..Options::default() };
        let analysis = analysis_of_files(vec![file(&frames(&lines))], &options);
        let kept: u64 = analysis.connections.iter().flat_map(|c| &c.directions).map(|direction| direction.packets).sum();
        let rows = analysis.rows.len();
        // A packet after the end, when the connection was put away already, has no row.
        prop_assert!(rows as u64 <= kept);
        prop_assert_eq!(analysis.rows.values(Field::Kind).iter().flatten().count(), rows);
        prop_assert_eq!(analysis.rows.values(Field::RttNs).len(), rows);
    }

    #[test]
    fn cutting_the_file_anywhere_is_no_harm(lines in lines(40), cut in any::<prop::sample::Index>()) {
        let whole = file(&frames(&lines));
        let cut = 200.min(whole.len()) + cut.index(whole.len().saturating_sub(200).max(1));
        check_consistency(&analysed(whole[..cut.min(whole.len())].to_vec(), 1));
    }
}

/// Both sides take segments of one byte, and frames claim to be as long as a capture file lets them.
#[test]
fn enormous_packets_in_tiny_segments_cost_no_more_than_others() {
    let tiny = |segment: Segment| Segment { raw_options: Some(vec![2, 4, 0, 1]), ..segment };
    let claimed = |position: i64| data(position, 16_000_000).captured(8).length_zero();
    let talk = Talk::new()
        .client(0.0, tiny(syn()))
        .server(40.0, tiny(syn_ack()))
        .client(40.1, ack(0))
        .each(0..300, |talk, n| talk.client(50.0 + f64::from(n), claimed(0)).server(50.5 + f64::from(n), ack(0)));
    let begun = std::time::Instant::now();
    let analysis = analysed(file(talk.frames()), 1);
    check_consistency(&analysis);
    assert_eq!(analysis.connections[0].directions[CLIENT].payload_bytes, 300 * 16_000_000);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

//! The fast path leaves the same state as the general rules, after every packet: of packet soup, made of random bytes.
//!
//! The fuzz target `fast_path` runs the same comparison on bytes that coverage leads (CONTRIBUTING.md). `short_ways.rs` compares
//! what is written of whole captures.
//!
//! Subjects: `tcp/direction/fast_path.rs`, `tcp/connection/steady.rs`,
//! `tcp/direction/observers.rs`, `tcp/direction/placed.rs`, `tcp/events/context.rs`.

use crate::soup::talk::soup as soup_of;
use crate::soup::ways::compare;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use vmtrace_core::packet::tcp_flags::{FIN, RST, SYN};
use vmtrace_core::tcp::flow::table::Shard;

fn nothing_planted(_: u64, _: &mut Shard) {}

/// Two runs of data with an acknowledgement for each packet, in a connection that was opened.
const STEADY: [u8; 12] = [0, 0, 0, 0, 0, 3, 0, 11, 0, 0, 0, 0];

proptest! {
    #![proptest_config(crate::captures::cases(40))]

    #[test]
    fn the_state_is_the_same_after_every_packet(data in proptest::collection::vec(any::<u8>(), 8..400)) {
        if let Err(found) = compare(&soup_of(&data), nothing_planted) {
            return Err(TestCaseError::fail(found));
        }
    }
}

/// Random bytes seldom meet what takes two things at once: here each step comes between runs of steady data.
#[test]
fn each_step_between_steady_runs_leaves_the_same_state() {
    const RUN: [u8; 5] = [0, 0, 11, 0, 0];
    for (step, byte) in (0..44).flat_map(|step| [0, 1, 8, 13, 35, 130].map(|byte| (step, byte))) {
        let opening = [0, 0, 0, 0, 0];
        let data = [&opening[..], &RUN, &[0, step, byte], &RUN, &[0, step, byte], &RUN].concat();
        if let Err(found) = compare(&soup_of(&data), nothing_planted) {
            panic!("step {step}, byte {byte}: {found}");
        }
    }
}

/// Whatever field is changed by a single packet of the fast path, the comparison sees it and says which.
#[test]
fn a_planted_difference_is_found_and_named() {
    let soup = soup_of(&STEADY);
    assert_eq!(compare(&soup, nothing_planted), Ok(()));
    let plant = |change: fn(&mut vmtrace_core::tcp::direction::direction::Direction)| {
        let planted = |number: u64, shard: &mut Shard| {
            if number == 12 {
                shard.in_progress().for_each(|connection| change(&mut connection.directions[1]));
            }
        };
        compare(&soup, planted).unwrap_err()
    };
    assert!(plant(|direction| direction.packets += 1).contains("packets: "));
    assert!(plant(|direction| direction.live().size.short_packets += 1).contains("short_packets: "));
    assert!(plant(|direction| direction.live().acks.last_advance_ns = None).contains("last_advance_ns: "));
    assert!(plant(|direction| direction.last_data_ns -= 1).contains("last_data_ns: "));
}

/// The soup has what it is said to have: most of it is steady traffic, and everything else comes up.
#[test]
fn the_soup_holds_steady_traffic_and_everything_that_ends_it() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut flags = [0_usize; 3];
    let (mut packets, mut sacked, mut superpackets, mut back_in_time, mut stray) = (0, 0, 0, 0, 0);
    for _ in 0..200 {
        let tree = proptest::collection::vec(any::<u8>(), 8..400).new_tree(&mut runner).unwrap();
        let capture = soup_of(&tree.current()).capture;
        packets += capture.packets.len();
        for (count, flag) in flags.iter_mut().zip([SYN, FIN, RST]) {
            *count += capture.packets.iter().filter(|packet| packet.has(flag)).count();
        }
        sacked += capture.packets.iter().filter(|packet| packet.tcp_header_length > 40).count();
        superpackets += capture.packets.iter().filter(|packet| packet.payload_length > 3000).count();
        back_in_time += capture.packets.windows(2).filter(|pair| pair[1].time_ns < pair[0].time_ns).count();
        stray += capture.packets.windows(2).filter(|pair| pair[0].ports % 65_536 != pair[1].ports % 65_536).count();
    }
    let seldom = [flags[0], flags[1], flags[2], sacked, superpackets, back_in_time, stray];
    assert!(packets > 10_000, "{packets} packets");
    assert!(seldom.iter().all(|&count| count > 20), "SYN, FIN, RST, SACK, superpackets, time, turns: {seldom:?}");
    assert!(flags.iter().sum::<usize>() < packets / 4, "{flags:?} of {packets} packets open or end a connection");
}

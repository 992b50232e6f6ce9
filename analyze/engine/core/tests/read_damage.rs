//! Damage: what is sound before and after it survives, and it is said what was lost.
//!
//! Subjects: `read/ledger.rs`, `read/records/judge.rs`, `read/records/search.rs`, `read/records/record_walk.rs`,
//! `read/pcapng/search.rs`, `read/walk.rs`.

use std::time::{Duration, Instant};

use crate::captures::*;
use proptest::prelude::*;
use vmtrace_core::read::{Damage, Record};

const T: i64 = 1_700_000_000_000_000_000;

/// Start of each record in a file of `plain_pcap`.
fn starts(frames: &[Frame]) -> Vec<usize> {
    frames.iter().scan(24, |at, frame| Some(std::mem::replace(at, *at + 16 + frame.bytes.len()))).collect()
}

fn put(file: &mut [u8], at: usize, number: u32) {
    file[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

#[test]
fn a_false_captured_length_costs_one_record() {
    let sent = frames(40);
    let (whole, starts) = (plain_pcap(&sent), starts(&sent));
    let length = sent[20].bytes.len() as u32;
    for false_length in [0, 1, length - 1, length + 1, 2 * length, 100_000, 1 << 20, 1 << 30, u32::MAX] {
        let mut file = whole.clone();
        put(&mut file, starts[20] + 8, false_length);
        let outcome = read(&file);
        let mut rest = sent.clone();
        rest.remove(20);
        let (offset, skipped) = (starts[20] as u64, u64::from(length) + 16);
        let damage = outcome.facts().damage.clone();
        // A length that is too short leaves a record that may be true, and a gap behind it.
        if outcome.frames.len() == 40 {
            assert!(false_length < length && outcome.frames[20].bytes.len() as u32 == false_length, "{false_length}");
            assert_eq!(damage.len(), 1);
            continue;
        }
        assert_eq!(outcome.frames, rest, "{false_length}");
        let [Damage { offset: at, skipped_bytes, .. }] = damage.as_slice() else { panic!("{damage:?}") };
        assert_eq!((*at, *skipped_bytes), (offset, skipped), "{false_length}");
    }
}

#[test]
fn a_hole_of_zeros_or_noise_or_missing_bytes_is_passed_over() {
    let sent = frames(60);
    let (whole, starts) = (plain_pcap(&sent), starts(&sent));
    let noise: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let hole = starts[10] + 30..starts[14] + 5;
    let without = [&whole[..hole.start], &whole[hole.end..]].concat();
    for filling in [vec![0; hole.len()], noise[..hole.len()].to_vec(), Vec::new(), noise, vec![0; 70_000]] {
        let file = [&without[..hole.start], &filling, &without[hole.start..]].concat();
        let outcome = read(&file);
        assert!(outcome.frames.starts_with(&sent[..10]), "{} bytes", filling.len());
        assert!(outcome.frames.ends_with(&sent[15..]), "{} bytes", filling.len());
        assert!(outcome.frames.len() <= 56, "{} records from a hole", outcome.frames.len());
        assert_eq!(outcome.facts().damage.len(), 1, "{:?}", outcome.facts().damage);
    }
}

#[test]
fn a_time_far_from_both_neighbours_costs_the_time_alone() {
    let mut sent = frames(10);
    sent[4].time_ns = 5_000_000_000;
    let outcome = read(&plain_pcap(&sent));
    sent[4].time_ns = Record::NO_TIME;
    assert!(outcome.frames == sent);
    assert_eq!(outcome.complaints(), ["a record of a time far from both its neighbours"]);
    let facts = outcome.facts();
    assert_eq!((facts.damage[0].skipped_bytes, facts.packets_without_time), (0, 1));
}

/// Rows of such records, or one alone between others.
#[test]
fn a_fraction_of_many_seconds_or_below_zero_is_added_as_libpcap_does() {
    for (magic, unit_ns) in [(MICROSECONDS, 1000), (NANOSECONDS, 1)] {
        for fraction in [1_000_000_i32, 1_999_999, 2_000_000, 999_999_999, 2_111_222_333, -1, i32::MIN] {
            for numbers in [0..1, 4..5, 9..10, 3..8, 0..10] {
                let mut sent = frames(10);
                let mut file = pcap(Order::Little, magic, &sent);
                for number in numbers {
                    put(&mut file, starts(&sent)[number] + 4, fraction.cast_unsigned());
                    let whole_ns = sent[number].time_ns.div_euclid(1_000_000_000) * 1_000_000_000;
                    sent[number].time_ns = whole_ns + i64::from(fraction) * unit_ns;
                }
                let outcome = read(&file);
                assert_eq!(outcome.frames, sent, "{fraction}");
                assert_eq!(outcome.complaints(), Vec::<String>::new());
                assert_eq!(read_slowly(&file, 50).frames, sent, "whatever the sizes of reads");
            }
        }
    }
}

#[test]
fn captures_put_together_may_be_years_apart() {
    const YEAR: i64 = 365 * 86_400 * 1_000_000_000;
    for years in [[0, 3, 7, 8, 13, 14, 2, 1], [9, 9, 9, 1, 14, 14, 3, 3], [1, 2, 3, 4, 5, 6, 7, 9]] {
        let mut sent = frames(8);
        sent.iter_mut().zip(years).for_each(|(frame, years)| frame.time_ns += years * YEAR - 9 * YEAR);
        let outcome = read(&plain_pcap(&sent));
        assert!(outcome.frames == sent, "{years:?}: {:?}", outcome.complaints());
        assert_eq!(outcome.complaints(), Vec::<String>::new());
    }
}

#[test]
fn zeros_behind_the_last_record_are_damage_not_packets() {
    let sent = frames(10);
    let outcome = read(&[plain_pcap(&sent), vec![0; 4096]].concat());
    assert_eq!(outcome.frames, sent);
    assert_eq!(outcome.complaints(), ["zeros in place of a record"]);
    assert_eq!(outcome.facts().damage[0].skipped_bytes, 4096);
}

/// Where frames were found, and what else was reported.
fn places(file: &[u8]) -> (Vec<(u32, u32)>, Vec<Damage>) {
    let outcome = read(file);
    let lengths = outcome.records.iter().map(|record| (record.captured_length, record.original_length));
    (lengths.collect(), outcome.facts().damage.clone())
}

#[test]
fn damage_at_the_first_records_makes_no_other_layout_of_an_ordinary_file() {
    // Nanoseconds have one layout only: whatever is found there must be found under the other magic number.
    let [ordinary, oracle] = [MICROSECONDS, NANOSECONDS].map(|magic| {
        let mut file = pcap_header(Order::Little, magic, 1514, 1);
        file.extend(frames(6).iter().flat_map(|frame| pcap_record(Order::Little, MICROSECONDS, frame)));
        file
    });
    for cut in 24..ordinary.len() {
        assert_eq!(places(&ordinary[..cut]), places(&oracle[..cut]), "cut at {cut}");
    }
    for (at, more) in [100, 213, 300].into_iter().flat_map(|at| (1..=32).map(move |more| (at, more))) {
        for filling in [0, 0x55, 0xff] {
            let with = |file: &[u8]| [&file[..at], &vec![filling; more], &file[at..]].concat();
            assert_eq!(places(&with(&ordinary)), places(&with(&oracle)), "{more} bytes more at {at}");
        }
        let without = |file: &[u8]| [&file[..at], &file[at + more..]].concat();
        assert_eq!(places(&without(&ordinary)), places(&without(&oracle)), "{more} bytes less at {at}");
    }
}

#[test]
fn a_second_file_header_in_the_middle_is_passed_over() {
    let sent = frames(20);
    let outcome = read(&[plain_pcap(&sent[..9]), plain_pcap(&sent[9..])].concat());
    assert_eq!(outcome.frames, sent);
    assert_eq!(outcome.facts().damage[0].skipped_bytes, 24);
}

#[test]
fn files_put_together_are_read_as_what_their_own_headers_say() {
    const RAW: u16 = 101;
    let whole_microseconds = |frame: Frame| Frame { time_ns: frame.time_ns / 1000 * 1000, ..frame };
    let sent: Vec<Frame> = frames(40).into_iter().map(whole_microseconds).collect();
    for order in [Order::Little, Order::Big] {
        let first = pcap(order, MICROSECONDS, &sent[..20]);
        let header = pcap_header(order, NANOSECONDS, 262_144, u32::from(RAW));
        let records = sent[20..].iter().flat_map(|frame| pcap_record(order, NANOSECONDS, frame));
        let file: Vec<u8> = [&first[..], &header].concat().into_iter().chain(records).collect();
        let outcome = read(&file);
        assert_eq!(outcome.frames, sent);
        let links = |outcome: &Outcome| -> Vec<u16> { outcome.records.iter().map(|record| record.link_type).collect() };
        assert_eq!(links(&outcome), [[1; 20], [RAW; 20]].concat());
        let facts = outcome.facts();
        assert_eq!((&facts.link_types[..], facts.time_resolution_s), (&[1, RAW][..], 1e-9));
        let what = "the header of another file, put behind this one".to_owned();
        assert_eq!(facts.damage, [Damage { offset: first.len() as u64, skipped_bytes: 24, what: what.clone() }]);
        for step in [1, 23, 1000] {
            let slowly = read_slowly(&file, step);
            assert_eq!((links(&slowly), &slowly.inputs), (links(&outcome), &outcome.inputs), "{step}");
            assert_eq!(slowly.frames, sent, "{step}");
        }
        // Also behind what makes no sense.
        let noise = [&first[..], &[0xee; 5000], &file[first.len()..]].concat();
        let outcome = read(&noise);
        assert_eq!((&outcome.frames, links(&outcome)), (&sent, links(&read(&file))));
        let places: Vec<_> =
            outcome.facts().damage.iter().map(|damage| (damage.offset, damage.skipped_bytes)).collect();
        assert_eq!(places, [(first.len() as u64, 5000), (first.len() as u64 + 5000, 24)]);
        for step in [1, 23, 1000] {
            assert_eq!(read_slowly(&noise, step).inputs, outcome.inputs, "{step}");
        }
        // What only begins like one is damage as any other, and so is what has no record behind it.
        let mut other = file.clone();
        other[first.len() + 5] ^= 7;
        for no_header in [&other[..], &file[..first.len() + 30]] {
            let outcome = read(no_header);
            assert!(outcome.frames.starts_with(&sent[..20]) && !outcome.complaints().contains(&what.as_str()));
        }
    }
}

#[test]
fn damaged_blocks_of_pcapng_cost_themselves_alone() {
    let order = Order::Big;
    let sent = frames(30);
    let head = [section(order), interface(order, 1, 0, &option(order, 9, &[9]))].concat();
    let blocks: Vec<Vec<u8>> = sent.iter().map(|one| enhanced(order, 0, one.time_ns as u64, one, &[])).collect();
    let with = |damaged: Vec<u8>| {
        let mut blocks = blocks.clone();
        blocks[12] = damaged;
        read(&[head.clone(), blocks.concat()].concat())
    };
    let mut rest = sent.clone();
    rest.remove(12);
    let change = |at: usize, number: u32| {
        let mut block = blocks[12].clone();
        let at = if at == usize::MAX { block.len() - 4 } else { at };
        block[at..at + 4].copy_from_slice(&order.u32(number));
        block
    };
    let cases = [
        ("length", change(4, 0)),
        ("length", change(4, 64)),
        ("length", change(4, 200_000)),
        ("length", change(4, u32::MAX)),
        ("trailer", change(usize::MAX, 7)),
        ("captured", change(20, 1 << 30)),
        ("original", change(24, 1 << 30)),
        ("interface", change(8, 3)),
        ("cut", blocks[12][..50].to_vec()),
        ("noise", vec![0x5a; 333]),
    ];
    for (what, damaged) in cases {
        let size = damaged.len() as u64;
        let outcome = with(damaged);
        assert_eq!(outcome.frames, rest, "{what}");
        assert_eq!(outcome.facts().damage.len(), 1, "{what}: {:?}", outcome.facts().damage);
        assert_eq!(outcome.facts().damage[0].skipped_bytes, size, "{what}");
    }
}

#[test]
fn an_option_beyond_its_block_is_told_and_the_block_used() {
    let order = Order::Little;
    let mut options = option(order, 2, b"eth0");
    options[2] = 200;
    let packet = enhanced(order, 0, 5, &frame(0, 4, &[1; 4]), &[]);
    let outcome = read(&[section(order), interface(order, 1, 0, &options), packet].concat());
    assert_eq!(outcome.frames, [frame(5000, 4, &[1; 4])]);
    assert_eq!(outcome.complaints(), ["an option that goes on beyond its block"]);
}

#[test]
fn the_list_of_damages_is_bounded() {
    let sent = frames(6000);
    let mut file = plain_pcap(&sent);
    for start in starts(&sent).into_iter().step_by(4) {
        put(&mut file, start + 8, u32::MAX);
    }
    let outcome = read(&file);
    assert_eq!(outcome.facts().damage.len(), 1001);
    assert_eq!(outcome.complaints()[1000], "500 more damaged places from here on");
    assert_eq!(outcome.facts().packets, 4500);
}

/// Records that look right and lead to where the next ones look right too, but never far: the worst for the search.
#[test]
fn hostile_files_take_linear_time() {
    let claims = |length: u32, snap: u32| {
        let header = pcap_header(Order::Little, MICROSECONDS, snap, 1);
        let record = Order::Little.words(&[1_700_000_000, 5, length, length]);
        [header, record.repeat(400_000)].concat()
    };
    let block_claims = |length: u32| {
        let record = Order::Little.words(&[6, length, 0, 0]);
        [pcapng(Order::Little, &[]), record.repeat(400_000)].concat()
    };
    let mut files = vec![block_claims(400_000), block_claims(16_000_000), block_claims(32)];
    for (length, snap) in [(16, 0), (17, 0), (1000, 0), (200_000, 0), (15_000_000, 16 << 20), (100_000, 99_999)] {
        files.push(claims(length, snap));
    }
    // Each odd record claims so much that whole megabytes are read before it is found false.
    let odd = Order::Little.words(&[1_700_000_000, 5, 15_000_001, 14_999_999]);
    let sound = pcap_record(Order::Little, MICROSECONDS, &frame(T, 60, &[0x77; 60])).repeat(4);
    let lures = [sound, odd].concat().repeat(60_000);
    files.push([pcap_header(Order::Little, MICROSECONDS, 16 << 20, 1), lures].concat());
    // Counts of drops, each of which changes the sum over all interfaces.
    let order = Order::Little;
    let counted = enhanced(order, 7, 5, &frame(T, 60, &[0x77; 60]), &option(order, 4, &order.u64(1)));
    let statistics = block(order, 5, &[order.words(&[7, 0, 5]), option(order, 7, &order.u64(1))].concat());
    let interfaces = [section(order), interface(order, 1, 0, &[]).repeat(60_000)].concat();
    files.push([interfaces.clone(), counted.repeat(400_000)].concat());
    files.push([interfaces, statistics.repeat(400_000)].concat());
    for (number, file) in files.iter().enumerate() {
        let start = Instant::now();
        let records = read(file).records.len();
        let took = start.elapsed();
        println!("file {number}: {} bytes, {records} records, {took:?}", file.len());
        assert!(took < Duration::from_secs(20), "file {number} took {took:?}");
    }
}

/// How many of the frames came back, in their order.
fn survivors(sent: &[Frame], outcome: &Outcome) -> usize {
    let mut rest = outcome.frames.as_slice();
    let came_back = |one: &&Frame| {
        let at = rest.iter().position(|other| other == *one);
        rest = at.map_or(rest, |at| &rest[at + 1..]);
        at.is_some()
    };
    sent.iter().filter(came_back).count()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_cut_leaves_a_prefix(cut in 0.0..1.0_f64, step in 1..3000_usize) {
        let sent = frames(25);
        for whole in [plain_pcap(&sent), pcapng(Order::Big, &sent), snoop(&sent)] {
            let cut = (whole.len() as f64 * cut) as usize;
            let outcome = read(&whole[..cut]);
            prop_assert!(sent.starts_with(&outcome.frames));
            let ends_whole = read(&whole[..cut]).facts().damage.is_empty() && outcome.error.is_none();
            let slow = read_slowly(&whole[..cut], step);
            prop_assert_eq!(&slow.frames, &outcome.frames);
            prop_assert_eq!(&slow.inputs, &outcome.inputs);
            if ends_whole {
                let longer = read(&whole[..(cut + 1).min(whole.len())]);
                prop_assert!(cut == whole.len() || !longer.facts().damage.is_empty());
            }
        }
    }

    #[test]
    fn flipped_bytes_cost_few_records(flips in prop::collection::vec((0.0..1.0_f64, 1..=255_u8), 1..6), step in 40..9000_usize) {
        let sent = frames(120);
        let headers = [24, pcapng(Order::Little, &[]).len()];
        for (whole, header) in [plain_pcap(&sent), pcapng(Order::Little, &sent)].into_iter().zip(headers) {
            let mut file = whole.clone();
            for (place, bits) in &flips {
                let at = header + ((file.len() - header) as f64 * place) as usize;
                file[at] ^= bits;
            }
            let outcome = read(&file);
            let left = survivors(&sent, &outcome);
            prop_assert!(left + 3 * flips.len() >= sent.len(), "{} of {} left: {:?}", left, sent.len(), outcome.facts().damage);
            let slow = read_slowly(&file, step);
            prop_assert_eq!(slow.frames, outcome.frames);
            prop_assert_eq!(slow.inputs, outcome.inputs);
        }
    }

    #[test]
    fn any_bytes_end(tail in prop::collection::vec(any::<u8>(), 0..3000), snap in any::<u32>(), step in 1..400_usize) {
        let order = Order::Little;
        let fronts = [
            Vec::new(),
            pcap_header(order, MICROSECONDS, snap, 1),
            pcap_header(Order::Big, NANOSECONDS, snap, 1),
            pcap_header(order, MODIFIED, snap, 1),
            pcapng(Order::Big, &[]),
            section(order),
            snoop(&[]),
        ];
        for front in fronts {
            let file = [front, tail.clone()].concat();
            let outcome = read(&file);
            let facts = outcome.facts();
            prop_assert_eq!(facts.packets as usize, outcome.records.len());
            let slow = read_slowly(&file, step);
            prop_assert_eq!(slow.frames, outcome.frames);
            prop_assert_eq!(&slow.inputs, &outcome.inputs);
        }
    }

    /// Small numbers make headers that are nearly right, which random bytes never do.
    #[test]
    fn any_nearly_right_bytes_read_the_same_through_any_window(
        words in prop::collection::vec(prop_oneof![0..40_u32, Just(1_700_000_000), Just(6), Just(32), Just(0x0a0d_0d0a), any::<u32>()], 0..400),
        step in 1..300_usize,
    ) {
        let order = Order::Little;
        for front in [pcap_header(order, MICROSECONDS, 96, 1), pcapng(order, &[]), pcap_header_version(order, MICROSECONDS, (2, 3), 20, 1)] {
            let file = [front, order.words(&words)].concat();
            let (whole, slow) = (read(&file), read_slowly(&file, step));
            prop_assert_eq!(slow.frames, whole.frames);
            prop_assert_eq!(slow.inputs, whole.inputs);
        }
    }
}

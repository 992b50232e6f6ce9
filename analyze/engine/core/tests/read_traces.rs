//! Real captures of many tools: as many packets as the manifest says, and what damage there is in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::captures::{Outcome, drain, read, read_slowly};
use vmtrace_core::read::FileSource;

/// The folder of captures, if there is one here.
fn traces() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/traces");
    let folder = std::env::var_os("VMTRACE_TRACES").map_or(beside, PathBuf::from);
    if !folder.join("MANIFEST.tsv").exists() {
        println!("skipped: no MANIFEST.tsv in {} (set VMTRACE_TRACES)", folder.display());
        return None;
    }
    Some(folder)
}

fn read_file(path: PathBuf) -> Outcome {
    drain(&mut FileSource::new(Box::new(std::fs::File::open(path).unwrap()), 0))
}

#[test]
fn every_capture_gives_the_packets_that_the_manifest_counts() {
    let Some(folder) = traces() else { return };
    // Where tshark, which the manifest was made with, and this reader differ for a reason.
    let explained = BTreeMap::from([
        // Both records claim more bytes on the wire than any frame has, so neither is believed; tshark takes both.
        ("PcapPlusPlus__clusterfuzz-5755755617189888.pcap", 0),
        // tshark counts their three custom blocks as packets.
        ("pcapng-test-generator__be_test102.pcapng", 5),
        ("pcapng-test-generator__le_test202.pcapng", 8),
    ]);
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut differences = Vec::new();
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, counted) = (fields[0], fields[5].parse::<u64>().unwrap());
        let outcome = read_file(folder.join(name));
        let expected = explained.get(name).copied().unwrap_or(counted);
        if !outcome.facts().damage.is_empty() || outcome.error.is_some() {
            println!("{name}: {:?} {:?}", outcome.facts().damage, outcome.error);
        }
        if outcome.facts().packets != expected {
            differences.push(format!("{name}: {} packets, expected {expected}", outcome.facts().packets));
        }
    }
    assert_eq!(differences, Vec::<String>::new());
}

#[test]
fn a_capture_cut_in_its_last_packet_says_so_and_keeps_the_rest() {
    let Some(folder) = traces() else { return };
    let outcome = read_file(folder.join("mlab-packet-headers__v6-truncated.pcap"));
    assert_eq!(outcome.complaints(), ["cut short in the middle of a packet"]);
    assert_eq!(outcome.facts().packets, 8);
}

#[test]
fn frames_are_numbered_as_wireshark_does_beside_custom_blocks() {
    let Some(folder) = traces() else { return };
    let outcome = read_file(folder.join("pcapng-test-generator__le_test202.pcapng"));
    let numbers: Vec<u32> = outcome.records.iter().map(|record| record.frame).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6, 8, 9, 11]);
}

#[test]
fn a_capture_reads_the_same_however_small_the_reads_are() {
    let Some(folder) = traces() else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = std::fs::read(&path).unwrap();
        if file.len() > 300_000 || path.ends_with("MANIFEST.tsv") {
            continue;
        }
        let (whole, slow) = (read(&file), read_slowly(&file, 53));
        assert_eq!(whole.frames, slow.frames, "{}", path.display());
        assert_eq!(whole.inputs, slow.inputs, "{}", path.display());
    }
}

/// Numbers that look random but are the same every time.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    }
}

#[test]
fn captures_cut_and_flipped_at_random_places_still_end() {
    let Some(folder) = traces() else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let whole = std::fs::read(&path).unwrap();
        let mut next = numbers(whole.len() as u64);
        for _ in 0..if whole.len() > 300_000 { 1 } else { 6 } {
            let mut file = whole[..=next(whole.len())].to_vec();
            for _ in 0..next(8) {
                let at = next(file.len());
                file[at] ^= 1 << next(8);
            }
            let outcome = read(&file);
            assert_eq!(outcome.inputs[0].packets as usize, outcome.records.len(), "{}", path.display());
        }
    }
}

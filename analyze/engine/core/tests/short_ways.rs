//! The short ways that packets of a steady connection go must end where the general rules do.
//!
//! A connection whose packets are wanted one by one goes by the general rules alone: every capture is analysed with all its
//! connections so, and with none.

use std::fs::File;
use std::path::{Path, PathBuf};

use vmtrace_core::analysis::{NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;

/// Packets that come after the end of a connection are counted by its summary alone, but a connection whose packets are
/// wanted one by one is kept in full: here that makes a difference to the time of the last packet, to the windows
/// and to how many resets are kept.
const STRAGGLERS: [&str; 5] = [
    "short-connections.pcap.gz",
    "suricata-verify__http-range-multiflows.pcap",
    "nDPI__alexa-app.pcapng",
    "tcptrace__hardware_dups.dmp.gz",
    "zeek__llc-fddi.pcap",
];

fn document(path: &Path, detail_connections: Vec<u32>) -> Option<String> {
    let options = Options { threads: 1, detail_connections, ..Options::default() };
    let analysis = analyze(vec![Box::new(File::open(path).unwrap())], &options, &NoObserver).ok()?;
    let mut out = Vec::new();
    analysis.write_json(&mut out, &JsonHeader::default()).unwrap();
    Some(String::from_utf8(out).unwrap())
}

/// The project's samples, and the collection of captures if there is one here.
fn captures() -> Vec<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let beside = root.join("../shared/traces");
    let collection = std::env::var_os("VMTRACE_TRACES").map_or(beside, PathBuf::from);
    let folders = [root.join("samples"), collection];
    let files = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten();
    let mut paths: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.extension().is_some_and(|kind| ["tsv", "json", "md", "py"].iter().any(|no| kind == *no)));
    paths
}

#[test]
fn short_ways_and_general_rules_agree() {
    let mut compared = 0;
    for path in captures().into_iter().filter(|path| path.is_file()) {
        let (short, general) = (document(&path, Vec::new()), document(&path, (1..=20_000).collect()));
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(short == general || STRAGGLERS.contains(&name.as_str()), "{name} differs");
        compared += usize::from(short.is_some());
    }
    assert!(compared >= 15, "only {compared} captures were found");
}

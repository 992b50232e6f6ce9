//! The TLS facts of real captures against tshark's.

use std::collections::BTreeMap;

use crate::support;
use vmtrace_core::tls::TlsFacts;

/// What tshark says of one connection.
#[derive(Debug, Default)]
struct Truth {
    sni: Option<String>,
    version: Option<u16>,
    cipher: Option<u16>,
    alpn: Option<String>,
    records: u64,
    certificate_bytes: Option<u64>,
    server_hellos: u32,
}

fn truths(path: &std::path::Path, options: &[&str]) -> BTreeMap<u32, Truth> {
    let fields = [
        "tcp.stream",
        "tls.handshake.type",
        "tls.handshake.extensions_server_name",
        "tls.handshake.version",
        "tls.handshake.extensions.supported_version",
        "tls.handshake.ciphersuite",
        "tls.record.length",
        "tls.handshake.length",
        "tls.handshake.extensions_alpn_str",
    ];
    let mut truths: BTreeMap<u32, Truth> = BTreeMap::new();
    for row in support::tshark(path, options, "tls && tcp", &fields) {
        let [stream, types, sni, version, supported, cipher, records, lengths, alpn] = row.as_slice() else {
            panic!("{row:?}")
        };
        let truth = truths.entry(stream.parse().unwrap()).or_default();
        truth.records += records.split(',').filter(|length| !length.is_empty()).count() as u64;
        let types: Vec<&str> = types.split(',').collect();
        let first = |list: &str| list.split(',').next().filter(|first| !first.is_empty()).map(number);
        if types.contains(&"1") && !sni.is_empty() {
            truth.sni.get_or_insert(sni.clone());
        }
        if types.contains(&"2") && !types.contains(&"1") {
            truth.server_hellos += 1;
            truth.version = first(supported).or(first(version)).map(|version| version as u16);
            truth.cipher = first(cipher).map(|cipher| cipher as u16);
            truth.alpn = Some(alpn.clone()).filter(|alpn| !alpn.is_empty());
        }
        for (kind, length) in types.iter().zip(lengths.split(',')) {
            if *kind == "11" && !length.is_empty() {
                truth.certificate_bytes.get_or_insert(4 + number(length));
            }
        }
    }
    truths
}

fn number(text: &str) -> u64 {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None => text.parse().unwrap(),
    }
}

fn version_text(number: u16) -> String {
    match number {
        0x0300 => "SSL 3.0".into(),
        0x0301..=0x0304 => format!("1.{}", number - 0x0301),
        _ => format!("0x{number:04x}"),
    }
}

/// `lossless`: tshark, which gives up at holes, saw all there was.
fn differences(facts: &TlsFacts, truth: &Truth, lossless: bool) -> Vec<String> {
    let mut out = Vec::new();
    let mut check = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            out.push(format!("{what}: {ours}, tshark {theirs}"));
        }
    };
    check("sni", format!("{:?}", facts.sni), format!("{:?}", truth.sni));
    check("version", format!("{:?}", facts.version), format!("{:?}", truth.version.map(version_text)));
    let cipher = truth
        .cipher
        .map(|n| tls_parser::TlsCipherSuite::from_id(n).map_or_else(|| format!("0x{n:04x}"), |s| s.name.into()));
    check("cipher", format!("{:?}", facts.cipher), format!("{cipher:?}"));
    check("alpn", format!("{:?}", facts.alpn), format!("{:?}", truth.alpn));
    if let Some(records) = facts.records.filter(|_| lossless) {
        check("records", records.to_string(), truth.records.to_string());
    }
    if truth.certificate_bytes.is_some() || lossless && facts.certificate_bytes.is_some_and(|bytes| bytes > 0) {
        check("certificate", format!("{:?}", facts.certificate_bytes), format!("{:?}", truth.certificate_bytes));
    }
    out
}

/// Checks every connection of a trace against tshark and says how many have TLS.
fn compare(name: &str, options: &[&str], lossless: bool, known_only_to_tshark: &[u32]) -> Option<usize> {
    let path = support::trace(name)?;
    let mut truths = truths(&path, options);
    known_only_to_tshark.iter().for_each(|stream| drop(truths.remove(stream)));
    let mut wrong = Vec::new();
    for (stream, connection) in &support::connections(&path) {
        let (facts, bytes) = support::read(&connection.segments);
        support::assert_bytes_sum(&connection.segments, bytes);
        match (&facts, truths.get(stream)) {
            (None, None) => {}
            (Some(facts), Some(truth)) => {
                wrong.extend(differences(facts, truth, lossless).into_iter().map(|what| format!("{stream}: {what}")));
            }
            _ => wrong.push(format!("{stream}: ours {facts:?}, tshark {:?}", truths.get(stream))),
        }
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    Some(truths.len())
}

fn assert_compared(name: &str, connections: usize) {
    if let Some(compared) = compare(name, &[], true, &[]) {
        assert_eq!(compared, connections);
    }
}

#[test]
fn tls13_of_a_browser() {
    assert_compared("nDPI__chrome.pcap", 6);
}

#[test]
fn tls13_and_tls12_of_many_sites() {
    assert_compared("nDPI__sites.pcapng", 55);
}

#[test]
fn tls10_to_tls12_of_aws_hosted_services() {
    // Stream 70 is one alert of a connection whose TLS was never captured: seven bytes prove nothing.
    if let Some(compared) = compare("nDPI__alexa-app.pcapng", &[], true, &[70]) {
        assert_eq!(compared, 88);
    }
}

#[test]
fn tls_inside_an_http_connect_tunnel() {
    assert_compared("nDPI__http_connect.pcap", 2);
}

#[test]
fn tls_inside_vxlan_and_geneve() {
    assert_compared("nDPI__vxlan.pcap", 2);
    assert_compared("mercury__geneve.pcap", 42);
}

#[test]
fn hello_retry_request() {
    assert_compared("zeek__tls-hrr.pcap", 1);
    let Some(path) = support::trace("zeek__tls-hrr.pcap") else {
        return;
    };
    let facts = support::read(&support::connections(&path)[&0].segments).0.unwrap();
    assert!(facts.hello_retry);
    assert_eq!(facts.handshake_round_trips, Some(2));
}

#[test]
fn a_certificate_of_many_records_is_measured_without_being_kept() {
    let Some(path) = support::trace("zeek__tls-fragmented-handshake.pcap.gz") else {
        return;
    };
    let facts = support::read(&support::connections(&path)[&0].segments).0.unwrap();
    // 339629 is the message length that stands in the handshake header; the capture ends inside the message.
    assert_eq!(facts.certificate_bytes, Some(4 + 339_629));
    assert_eq!(facts.version.as_deref(), Some("1.2"));
    assert!(!facts.handshake_complete);
}

#[test]
fn flows_with_holes_keep_their_hellos() {
    if let Some(compared) = compare("PcapPlusPlus__tls2.pcap", &[], false, &[]) {
        assert_eq!(compared, 334);
    }
}

//! The TLS facts of real captures against tshark's.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::collections::BTreeMap;

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
        let [
            stream,
            types,
            sni,
            version,
            supported,
            cipher,
            records,
            lengths,
            alpn,
        ] = row.as_slice()
        else {
            panic!("{row:?}")
        };
        let truth = truths.entry(stream.parse().unwrap()).or_default();
        truth.records += records
            .split(',')
            .filter(|length| !length.is_empty())
            .count() as u64;
        let types: Vec<&str> = types.split(',').collect();
        let first = |list: &str| {
            list.split(',')
                .next()
                .filter(|first| !first.is_empty())
                .map(number)
        };
        if types.contains(&"1") && !sni.is_empty() {
            truth.sni.get_or_insert(sni.clone());
        }
        if types.contains(&"2") && !types.contains(&"1") {
            truth.server_hellos += 1;
            truth.version = first(supported)
                .or(first(version))
                .map(|version| version as u16);
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

fn differences(facts: &TlsFacts, truth: &Truth) -> Vec<String> {
    let mut out = Vec::new();
    let mut check = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            out.push(format!("{what}: {ours}, tshark {theirs}"));
        }
    };
    check(
        "sni",
        format!("{:?}", facts.sni),
        format!("{:?}", truth.sni),
    );
    check(
        "version",
        format!("{:?}", facts.version),
        format!("{:?}", truth.version.map(version_text)),
    );
    let cipher = truth.cipher.map(|n| {
        tls_parser::TlsCipherSuite::from_id(n)
            .map_or_else(|| format!("0x{n:04x}"), |s| s.name.into())
    });
    check(
        "cipher",
        format!("{:?}", facts.cipher),
        format!("{cipher:?}"),
    );
    check(
        "alpn",
        format!("{:?}", facts.alpn),
        format!("{:?}", truth.alpn),
    );
    if let Some(records) = facts.records {
        check("records", records.to_string(), truth.records.to_string());
    }
    if truth.certificate_bytes.is_some() || facts.certificate_bytes.is_some_and(|bytes| bytes > 0) {
        check(
            "certificate",
            format!("{:?}", facts.certificate_bytes),
            format!("{:?}", truth.certificate_bytes),
        );
    }
    out
}

#[test]
fn survey() {
    let names = std::env::var("TLS_SURVEY").unwrap_or_default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let Some(path) = support::trace(name) else {
            continue;
        };
        let truths = truths(&path, &[]);
        let connections = support::connections(&path);
        println!(
            "== {name}: {} connections, {} TLS by tshark",
            connections.len(),
            truths.len()
        );
        let mut equal = 0;
        for (stream, connection) in &connections {
            let (facts, bytes) = support::read(&connection.segments);
            for i in 0..2 {
                let passed: u64 = connection
                    .segments
                    .iter()
                    .filter(|s| s.direction == support::DIRECTIONS[i] && !s.retransmitted)
                    .map(|s| u64::from(s.length))
                    .sum();
                assert_eq!(
                    passed,
                    bytes[i].tls_handshake + bytes[i].tls_record + bytes[i].application
                );
            }
            match (&facts, truths.get(stream)) {
                (None, None) => {}
                (Some(facts), Some(truth)) => {
                    let different = differences(facts, truth);
                    if different.is_empty() {
                        equal += 1
                    } else {
                        println!("{stream}: {different:?}\n     {:?}", facts.not_measured)
                    }
                    if names.len() < 40 {
                        println!("{stream}: {facts:?} {bytes:?}");
                    }
                }
                (Some(facts), None) => println!("{stream}: only ours {facts:?}"),
                (None, Some(truth)) => println!(
                    "{stream}: only tshark {truth:?} {:?}",
                    connection
                        .segments
                        .iter()
                        .map(|s| (s.direction, s.offset, s.length))
                        .take(4)
                        .collect::<Vec<_>>()
                ),
            }
        }
        println!("equal: {equal}");
    }
}

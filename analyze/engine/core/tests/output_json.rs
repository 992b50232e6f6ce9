//! The JSON document: valid whatever the strings in it, null where nothing was measured, each with its reason.
//!
//! Subjects: `output/describe/document.rs`, `output/describe/endpoint.rs`, `output/describe/verdict.rs`,
//! `output/describe/loss.rs`, `output/describe/round_trips.rs`, `output/describe/spacing.rs`, `output/describe/tls.rs`,
//! `output/describe/ledger.rs`, `output/describe/evidence.rs`, `output/link_names.rs`,
//! `tcp/summary/not_measured.rs`, `output/json_writer.rs`.

use crate::playbook::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use vmtrace_core::analysis::Analysis;
use vmtrace_core::output::describe::document::SCHEMA;
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::tcp::summary::not_measured::REASONS;

fn written(analysis: &Analysis, header: &JsonHeader) -> String {
    let mut out = Vec::new();
    analysis.write_json(&mut out, header).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(talk: &Talk) -> Value {
    serde_json::from_str(&json_of(&talk.analysis())).unwrap()
}

/// A request and its answer, one segment again after a timeout.
fn exchange() -> Talk {
    Talk::seen_at_client(40.0)
        .client(50.0, data(0, 1000))
        .client(50.2, data(1000, 1000))
        .server(90.0, ack(1000))
        .client(300.0, data(1000, 1000))
        .server(340.0, data(0, 500).acking(2000))
        .client(340.1, ack(500))
        .server(341.0, rst())
}

#[test]
fn numbers_are_those_of_the_trace() {
    let document = document(&exchange());
    assert_eq!(document["schema"], SCHEMA);
    assert_eq!((&document["interrupted"], &document["inputs"][0]["packets"]), (&false.into(), &10.into()));
    let connection = &document["connections"][0];
    assert_eq!(
        (&connection["id"], &connection["input"], &connection["first_frame"]),
        (&1.into(), &0.into(), &1.into())
    );
    assert_eq!((&connection["client"], &connection["server"]), (&"10.0.0.1:40000".into(), &"10.0.0.2:443".into()));
    assert_eq!(connection["start_ns"], START_NS);
    assert_eq!((&connection["duration_s"], &connection["handshake"]["rtt_s"]), (&0.341.into(), &0.0401.into()));
    assert_eq!((&connection["close"], &connection["reset_by"]), (&"reset".into(), &"server".into()));
    let client = &connection["client_to_server"];
    assert_eq!((&client["payload_bytes"], &client["unique_payload_bytes"]), (&3000.into(), &2000.into()));
    assert_eq!(client["loss"]["retransmitted_segments"], 1);
    assert_eq!((&client["rtt"]["samples"], &client["rtt"]["min_s"]), (&1.into(), &0.04.into()));
    assert_eq!(client["rtt"]["rejected"]["retransmitted"], 1);
    assert_eq!((&client["goodput_bps"], &client["not_measured"]["goodput_bps"]), (&Value::Null, &"one_flight".into()));
}

#[test]
fn the_ledger_sums_to_the_wire_bytes() {
    let ledger = document(&exchange())["connections"][0]["ledger"].clone();
    let parts = ledger.as_object().unwrap().iter().filter(|(key, _)| key.ends_with("_bytes") && *key != "wire_bytes");
    let sum: u64 = parts.map(|(_, value)| value.as_u64().unwrap()).sum();
    let frames: u64 = exchange().frames().iter().map(|frame| u64::from(frame.original_length)).sum();
    assert_eq!((sum, &ledger["wire_bytes"]), (frames, &frames.into()));
}

#[test]
fn ipv6_addresses_stand_in_brackets() {
    let document = document(&Talk::new().over_ipv6().open(40.0, 0.1));
    assert_eq!(document["connections"][0]["client"], "[2001:db8::1]:40000");
}

#[test]
fn one_connection_may_be_asked_for() {
    let talks = [1, 2, 3].map(|host| Talk::new().between(host, 1000, 9, 80).open(40.0, 0.1));
    let analysis = analysis_of(&merged(&talks), &Default::default());
    let header = JsonHeader { only_connections: Some(vec![2]), ..JsonHeader::default() };
    let document: Value = serde_json::from_str(&written(&analysis, &header)).unwrap();
    let ids: Vec<_> = document["connections"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, [2]);
}

/// The value at a dotted path within a direction.
fn at<'a>(direction: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(direction, |value, key| &value[key])
}

#[test]
fn what_was_not_measured_is_null_and_has_a_reason() {
    let captures = [
        exchange(),
        exchange().starting_at(3),
        exchange().only(CLIENT),
        exchange().only(SERVER),
        Talk::new().client(0.0, syn()),
        Talk::seen_at_server(40.0).client(50.0, data(0, 1000)),
    ];
    let texts: Vec<&str> = REASONS.iter().map(|(key, _)| *key).collect();
    let fields = [
        ("rtt", "rtt.mean_s"),
        ("goodput_bps", "goodput_bps"),
        ("loss.lost_segments_ipid", "loss.lost_segments_ipid"),
        ("loss.loss_rate", "loss.loss_rate"),
        ("spacing", "spacing.mean_s"),
        ("window", "window.mean_bytes"),
        ("flight", "flight.max_bytes"),
    ];
    let mut missing = 0;
    for document in captures.iter().map(document) {
        for direction in ["client_to_server", "server_to_client"].map(|key| &document["connections"][0][key]) {
            let reasons = direction["not_measured"].as_object().cloned().unwrap_or_default();
            assert!(reasons.values().all(|reason| texts.contains(&reason.as_str().unwrap())));
            for (field, path) in fields {
                let measured = at(direction, path).is_number();
                let told = reasons.contains_key(field) || (reasons.contains_key("*") && field != "window");
                assert_eq!(measured, !told, "{field} of {direction}");
                missing += usize::from(!measured);
            }
        }
    }
    assert!(missing > 20, "the captures leave much unmeasured");
}

#[test]
fn what_limited_a_direction_that_nobody_is_seen_to_acknowledge_is_not_measured() {
    let unheard = (0..20).fold(Talk::seen_at_client(40.0), |talk, segment| {
        talk.client(50.0 + 100.0 * f64::from(segment), data(i64::from(segment) * 1000, 1000))
    });
    let document = document(&unheard);
    let connection = &document["connections"][0];
    let client = &connection["client_to_server"];
    assert_eq!((&client["limits"], &client["not_measured"]["limits"]), (&json!([]), &"no_acknowledgement".into()));
    assert_eq!(connection["verdict"], Value::Null);
}

#[test]
fn a_direction_without_data_is_told_in_one_entry() {
    let document = document(&exchange().only(CLIENT));
    let silent = &document["connections"][0]["server_to_client"];
    assert_eq!(silent["not_measured"]["*"], json!("not_captured"));
    assert_eq!((&silent["loss"]["loss_rate"], &silent["goodput_bps"]), (&Value::Null, &Value::Null));
}

#[test]
fn fields_beyond_the_contract_are_left_out_where_they_say_nothing() {
    let connection = document(&Talk::new().client(0.0, syn()))["connections"][0].clone();
    let (handshake, silent) = (&connection["handshake"], &connection["server_to_client"]);
    for (object, keys) in [
        (&connection, &["reset_by", "teardown_s"][..]),
        (handshake, &["client_loop_s", "server_loop_s"]),
        (silent, &["segment_size_bytes", "data_time_s"]),
        (&silent["loss"], &["caveat"]),
        (&silent["spacing"], &["oversize_threshold_s", "oversize_rule", "anomalies_not_listed"]),
    ] {
        assert!(keys.iter().all(|key| object.get(key).is_none()), "{keys:?} of {object}");
    }
    assert_eq!(silent["rtt"]["rejected"], json!({}));
    assert!(document(&exchange())["connections"][0]["server_to_client"].get("data_time_s").is_some());
}

#[test]
fn a_part_told_in_common_words_is_each_connections_own() {
    let still = |host| Talk::new().between(host, 1000, 9, 80).open(40.0, 0.1);
    let lossy = still(3).client(60.0, data(0, 1000)).client(300.0, data(0, 1000));
    let talks = [still(1), lossy, still(2), still(4).client(60.0, data(0, 1000))];
    let together: Value = serde_json::from_str(&json_of(&analysis_of(&merged(&talks), &Default::default()))).unwrap();
    for (talk, connection) in talks.iter().zip(together["connections"].as_array().unwrap()) {
        let alone = document(talk);
        for way in ["client_to_server", "server_to_client"] {
            assert_eq!(alone["connections"][0][way], connection[way]);
        }
    }
}

#[test]
fn no_samples_is_null_and_not_zero() {
    let document = document(&exchange().only(CLIENT));
    let rtt = &document["connections"][0]["client_to_server"]["rtt"];
    assert_eq!(rtt["samples"], 0);
    for key in ["method", "min_s", "mean_s", "stddev_s", "median_s", "p95_s", "p99_s", "max_s"] {
        assert!(rtt[key].is_null(), "{key}");
    }
    assert!(document["connections"][0]["handshake"]["rtt_s"].is_null());
    assert!(document["connections"][0]["tls"].is_null() && document["connections"][0]["verdict"].is_null());
}

/// A TLS ClientHello that asks for a name.
fn client_hello(name: &[u8]) -> Vec<u8> {
    let short = |length: usize| (length as u16).to_be_bytes();
    let list = [&[0], &short(name.len())[..], name].concat();
    let extension = [&[0, 0], &short(list.len() + 2)[..], &short(list.len()), &list].concat();
    let versions = [0, 43, 0, 3, 2, 3, 4];
    let extensions = [&extension[..], &versions].concat();
    let body = [&[3, 3], &[7; 32][..], &[0, 0, 2, 0x13, 0x01, 1, 0], &short(extensions.len()), &extensions].concat();
    let message = [&[1, 0], &short(body.len())[..], &body].concat();
    [&[22, 3, 1], &short(message.len())[..], &message].concat()
}

fn server_hello() -> Vec<u8> {
    let body = [&[3, 3], &[9; 32][..], &[0, 0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 3, 4]].concat();
    let message = [&[2, 0, 0, body.len() as u8], &body[..]].concat();
    [&[22, 3, 3, 0, message.len() as u8], &message[..]].concat()
}

fn asking_for(name: &[u8]) -> Talk {
    let (hello, answer) = (client_hello(name), server_hello());
    let (length, answered) = (hello.len() as i64, answer.len() as i64);
    Talk::seen_at_client(40.0)
        .client(50.0, data(0, 0).content(&hello))
        .server(90.0, data(0, 0).content(&answer).acking(length))
        .client(90.1, ack(answered))
}

#[test]
fn a_plain_server_name_is_written_as_it_is() {
    assert_eq!(document(&asking_for(b"www.example.org"))["connections"][0]["tls"]["sni"], "www.example.org");
}

#[test]
fn hostile_server_names_break_nothing() {
    let names: [&[u8]; 8] = [
        b"a\"b\\c.example",
        b"</script><script>alert(1)</script>",
        b"line\nbreak\r\ttab\0null",
        b"\xff\xfe\xc3\x28",
        "\u{2028}\u{2029}\u{1f600}".as_bytes(),
        b"\x1b[31mred\x7f",
        b"",
        &[b'x'; 255],
    ];
    for name in names {
        let text = json_of(&asking_for(name).analysis());
        let document: Value = serde_json::from_str(&text).unwrap();
        let sni = &document["connections"][0]["tls"]["sni"];
        assert!(sni.is_string() || sni.is_null(), "{sni}");
        assert!(!text.contains('<') && !text.contains('\u{1b}') && !text.contains('\u{2028}'), "{text}");
    }
}

proptest! {
    #![proptest_config(captures::cases(200))]

    #[test]
    fn any_text_reads_back(version in ".*", path in "[\\x00-\\x7f\u{80}-\u{2fff}]*") {
        let analysis = Talk::new().client(0.0, syn()).analysis();
        let header = JsonHeader {
            vmtrace_version: version.clone(), input_paths: vec![path.clone()], ..JsonHeader::default()
        };
        let text = written(&analysis, &header);
        prop_assert!(!text.bytes().any(|byte| byte < b' ' && byte != b'\n'), "no raw control characters");
        let document: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&document["vmtrace"], &version);
        prop_assert_eq!(&document["inputs"][0]["path"], &path);
    }

    #[test]
    fn any_server_name_gives_a_valid_document(name in prop::collection::vec(any::<u8>(), 0..80)) {
        let document: Result<Value, _> = serde_json::from_str(&json_of(&asking_for(&name).analysis()));
        prop_assert!(document.is_ok());
    }
}

#[test]
fn a_writer_that_fails_ends_the_writing_with_its_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no room"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = exchange().analysis().write_json(&mut Full, &JsonHeader::default()).unwrap_err();
    assert_eq!(error.to_string(), "no room");
}

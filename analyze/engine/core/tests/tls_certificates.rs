//! Names in a server's certificate: out of a certificate built byte by byte, out of any bytes, and through a connection.
//!
//! Subjects: `tls/certificate.rs`.

use crate::playbook::captures::cases;
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::tls::{CertificateNames, certificate_names};

/// Data from a position on.
fn content(start: i64, bytes: &[u8]) -> Segment {
    data(start, 0).content(bytes)
}

fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..=0x7f => vec![tag, length as u8],
        0x80..=0xff => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [head, content.to_vec()].concat()
}

fn common_name(name: &str) -> Vec<u8> {
    let pair = [der(6, &[0x55, 4, 3]), der(0x0c, name.as_bytes())].concat();
    der(0x30, &der(0x31, &der(0x30, &pair)))
}

fn alternative_names(names: &[&str]) -> Vec<u8> {
    let names: Vec<u8> = names.iter().flat_map(|name| der(0x82, name.as_bytes())).collect();
    let value = der(4, &der(0x30, &names));
    // Another extension stands before it, and it is critical.
    let other = der(0x30, &[der(6, &[0x55, 0x1d, 0x0f]), der(4, &[3, 2, 5, 0xa0])].concat());
    let this = der(0x30, &[der(6, &[0x55, 0x1d, 0x11]), der(1, &[0xff]), value].concat());
    der(0xa3, &der(0x30, &[other, this].concat()))
}

fn certificate(subject: &str, names: &[&str]) -> Vec<u8> {
    let fields = [
        der(0xa0, &der(2, &[2])),
        der(2, &[1, 2, 3]),
        der(0x30, &[]),
        common_name("issuer.example"),
        der(0x30, &[]),
        common_name(subject),
        der(0x30, &[0; 290]),
        alternative_names(names),
    ];
    der(0x30, &[der(0x30, &fields.concat()), der(0x30, &[]), der(3, &[0; 257])].concat())
}

/// The body of a Certificate message with one certificate.
fn message(certificate: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| (bytes as u32).to_be_bytes()[1..].to_vec();
    [length(certificate.len() + 3), length(certificate.len()), certificate.to_vec()].concat()
}

#[test]
fn common_name_and_alternative_names_are_told_each_once() {
    let body = message(&certificate("*.S3.example", &["*.s3.example", "s3.example", "*.s3-west.example"]));
    let names = vec!["*.s3.example".to_owned(), "s3.example".to_owned(), "*.s3-west.example".to_owned()];
    assert_eq!(certificate_names(&body), CertificateNames { names, more: 0 });
}

#[test]
fn a_subject_that_is_no_host_name_is_left_out() {
    let body = message(&certificate("Storage of Example, Inc.", &["a.example", "b\u{0}.example", "<b>.example", ""]));
    assert_eq!(certificate_names(&body).names, ["a.example"]);
}

#[test]
fn names_beyond_the_first_eight_are_counted() {
    let names: Vec<String> = (0..20).map(|number| format!("n{number}.example")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = certificate_names(&message(&certificate("cn.example", &names)));
    assert_eq!((found.names.len(), found.more), (8, 13));
}

#[test]
fn every_truncation_gives_the_first_names() {
    let body = message(&certificate("cn.example", &["a.example", "b.example"]));
    let whole = certificate_names(&body).names;
    assert_eq!(whole.len(), 3);
    for end in 0..body.len() {
        let found = certificate_names(&body[..end]).names;
        assert_eq!(found, whole[..found.len()], "cut at {end}");
    }
}

/// A TLS 1.2 handshake up to the server's certificate, which comes in segments of `size` bytes.
fn connection_with(body: &[u8], size: usize) -> Talk {
    let length = |bytes: usize| (bytes as u32).to_be_bytes()[1..].to_vec();
    let record = |body: &[u8]| [&[22, 3, 3], &(body.len() as u16).to_be_bytes()[..], body].concat();
    let hello = |kind: u8, rest: &[u8]| {
        let body = [&[3, 3], &[7; 32][..], &[0], rest].concat();
        record(&[&[kind], &length(body.len())[..], &body].concat())
    };
    let client = hello(1, &[0, 2, 0xc0, 0x2f, 1, 0]);
    let flight = [hello(2, &[0xc0, 0x2f, 0]), record(&[&[11], &length(body.len())[..], body].concat())].concat();
    let opened = Talk::seen_at_client(20.0).client(21.0, content(0, &client)).server(41.0, ack(client.len() as i64));
    let talk = flight.chunks(size).enumerate().fold(opened, |talk, (number, bytes)| {
        talk.server(42.0 + number as f64 / 100.0, content((number * size) as i64, bytes))
    });
    talk.client(60.0, ack(flight.len() as i64))
}

#[test]
fn a_connection_tells_the_names_however_it_is_cut_into_segments() {
    let body = message(&certificate("cn.example", &["a.example"]));
    for size in [1, 100, 900] {
        let tls = connection_with(&body, size).summary().tls.unwrap();
        assert_eq!(tls.certificate_names, ["cn.example", "a.example"], "segments of {size} bytes");
        assert_eq!(tls.certificate_bytes, Some(4 + body.len() as u64));
    }
    let json = json_of(&connection_with(&body, 900).analysis());
    assert!(json.contains(r#""certificate_names":["cn.example","a.example"]"#), "{json}");
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_bytes_give_at_most_eight_host_names(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(certificate_names(&bytes).names.len() <= 8);
    }

    #[test]
    fn a_certificate_changed_anywhere_does_no_harm(changes in prop::collection::vec((0_usize..1000, any::<u8>()), 1..5)) {
        let mut body = message(&certificate("cn.example", &["a.example", "b.example"]));
        for (at, byte) in changes {
            if let Some(place) = body.get_mut(at) {
                *place = byte;
            }
        }
        for name in certificate_names(&body).names {
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}

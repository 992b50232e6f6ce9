//! Names looked up in a capture: whose address it is, through aliases, over UDP and TCP, and what harm a message can do.
//!
//! Subjects: `dns/lookups.rs`, `dns/message.rs`, `dns/stream.rs`, `output/lookups.rs`.

use std::net::IpAddr;

use crate::frames;
use crate::playbook::captures::{Frame, cases, frame};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, Options};
use vmtrace_core::dns::{DnsStreams, Exchange, Lookup, Lookups, Transport, read_message};

const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// Data from a position on.
fn content(start: i64, bytes: &[u8]) -> Segment {
    data(start, 0).content(bytes)
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    labels.flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat()).chain([0]).collect()
}

fn query(id: u16, asked: &str, kind: u16) -> Vec<u8> {
    [&id.to_be_bytes()[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &name(asked), &kind.to_be_bytes(), &[0, 1]].concat()
}

fn record(owner: &[u8], kind: u16, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    [owner, &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &length, content].concat()
}

fn answer(id: u16, asked: &str, kind: u16, records: &[Vec<u8>]) -> Vec<u8> {
    let mut message = query(id, asked, kind);
    message[2..4].copy_from_slice(&[0x81, 0x80]);
    message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    message.extend(records.concat());
    message
}

/// A compression pointer to the name asked for, which stands behind the header.
const ASKED: &[u8] = &[0xc0, 12];

fn datagram(from_resolver: bool, message: &[u8]) -> Vec<u8> {
    let length = ((8 + message.len()) as u16).to_be_bytes();
    let ports: [u8; 4] = if from_resolver { [0, 53, 0x9c, 0x40] } else { [0x9c, 0x40, 0, 53] };
    let udp = [&ports, &length[..], &[0, 0], message].concat();
    let mut ip = frames::ipv4(17, &udp);
    if from_resolver {
        ip[12..20].rotate_left(4);
    }
    frames::ethernet(0x0800, &ip)
}

fn at(time_ms: f64, bytes: &[u8]) -> Frame {
    frame(START_NS + ms(time_ms), bytes.len() as u32, bytes)
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn lookups(analysis: &Analysis) -> Vec<(&str, Vec<String>, Option<i64>)> {
    let found = |lookup: &Lookup| lookup.message.addresses.iter().map(ToString::to_string).collect();
    let waited = |lookup: &Lookup| lookup.asked_ns.and_then(|asked_ns| Some(lookup.answered_ns? - asked_ns));
    analysis
        .lookups
        .answered()
        .iter()
        .map(|one| (one.message.name.as_deref().unwrap_or("-"), found(one), waited(one)))
        .collect()
}

#[test]
fn a_question_and_its_answer_are_one_lookup_with_its_time() {
    let answered = answer(7, "s3.example", A, &[record(ASKED, A, &[192, 0, 2, 1]), record(ASKED, A, &[192, 0, 2, 2])]);
    let frames = [at(0.0, &datagram(false, &query(7, "S3.Example", A))), at(12.5, &datagram(true, &answered))];
    let analysis = analysis_of(&frames, &Options::default());
    let addresses = vec!["192.0.2.1".to_owned(), "192.0.2.2".to_owned()];
    assert_eq!(lookups(&analysis), [("s3.example", addresses, Some(ms(12.5)))]);
    let lookup = &analysis.lookups.answered()[0];
    assert_eq!((lookup.client, lookup.resolver), (address("10.1.2.3"), address("192.168.7.9")));
    assert_eq!(analysis.inputs[0].undecoded, [("not_tcp".to_owned(), 2)], "they count as before");
}

#[test]
fn a_question_asked_twice_has_waited_since_the_first() {
    let asked = datagram(false, &query(7, "a.example", A));
    let answered = datagram(true, &answer(7, "a.example", A, &[record(ASKED, A, &[192, 0, 2, 1])]));
    let frames = [at(0.0, &asked), at(5000.0, &asked), at(5010.0, &answered), at(5020.0, &answered)];
    let waits: Vec<_> =
        lookups(&analysis_of(&frames, &Options::default())).into_iter().map(|(.., wait)| wait).collect();
    assert_eq!(waits, [Some(ms(5010.0)), None], "an answer without a question is one, too");
}

#[test]
fn aliases_are_followed_in_any_order_and_unasked_records_are_not_taken() {
    let records = [
        record(&name("r.west.example"), A, &[192, 0, 2, 9]),
        record(&name("bank.example"), A, &[192, 0, 2, 66]),
        record(ASKED, CNAME, &name("alias.example")),
        record(&name("alias.example"), CNAME, &name("r.west.example")),
    ];
    let message = read_message(&answer(1, "files.example", A, &records), false).unwrap();
    assert_eq!(message.aliases, ["alias.example", "r.west.example"]);
    assert_eq!(message.addresses, [address("192.0.2.9")]);
}

#[test]
fn aliases_in_a_circle_end() {
    let records = [record(ASKED, CNAME, &name("b.example")), record(&name("b.example"), CNAME, ASKED)];
    let message = read_message(&answer(1, "a.example", AAAA, &records), false).unwrap();
    assert_eq!(message.aliases, ["b.example"]);
    assert!(message.addresses.is_empty());
}

#[test]
fn an_answer_without_addresses_is_a_lookup_with_its_response_code() {
    let mut refused = answer(3, "no.example", AAAA, &[]);
    refused[3] |= 3;
    let analysis = analysis_of(&[at(0.0, &datagram(true, &refused))], &Options::default());
    assert_eq!(lookups(&analysis), [("no.example", vec![], None)]);
    assert_eq!(analysis.lookups.answered()[0].message.response_code, 3);
}

#[test]
fn a_cut_answer_is_read_as_far_as_it_goes() {
    let records = [record(ASKED, A, &[192, 0, 2, 1]), record(ASKED, A, &[192, 0, 2, 2])];
    let whole = answer(1, "a.example", A, &records);
    assert_eq!(read_message(&whole[..whole.len() - 1], true).unwrap().addresses, [address("192.0.2.1")]);
}

#[test]
fn a_question_whose_name_was_cut_still_has_its_time() {
    let answered = answer(7, "a.example", A, &[record(ASKED, A, &[192, 0, 2, 1])]);
    let cut =
        |time_ms: f64, bytes: &[u8]| frame(START_NS + ms(time_ms), bytes.len() as u32, &bytes[..14 + 20 + 8 + 16]);
    let frames = [cut(0.0, &datagram(false, &query(7, "a.example", A))), cut(9.0, &datagram(true, &answered))];
    let analysis = analysis_of(&frames, &Options::default());
    assert_eq!(lookups(&analysis), [("-", vec![], Some(ms(9.0)))]);
    assert_eq!(analysis.lookups.answered()[0].message.name, None);
}

#[test]
fn messages_over_tcp_are_read_whatever_their_segments() {
    let framed = |message: Vec<u8>| [&(message.len() as u16).to_be_bytes()[..], &message].concat();
    let asked = [framed(query(1, "a.example", A)), framed(query(2, "b.example", AAAA))].concat();
    let six = address("2001:db8::7");
    let IpAddr::V6(octets) = six else { panic!() };
    let first = framed(answer(1, "a.example", A, &[record(ASKED, A, &[192, 0, 2, 1])]));
    let second = framed(answer(2, "b.example", AAAA, &[record(ASKED, AAAA, &octets.octets())]));
    let answered = [first, second].concat();
    for cut in [1, 2, 30, answered.len() - 1] {
        let (head, tail) = answered.split_at(cut);
        let (before, after) = (head.len() as i64, answered.len() as i64);
        let talk = Talk::new()
            .between(1, 40_000, 2, 53)
            .open(10.0, 0.1)
            .client(11.0, content(0, &asked))
            .server(21.0, ack(asked.len() as i64))
            .server(30.0, content(before, tail))
            .server(31.0, content(0, head))
            .client(32.0, ack(after));
        let analysis = talk.analysis();
        let expected = [("a.example", "192.0.2.1"), ("b.example", "2001:db8::7")];
        let found = lookups(&analysis);
        let names: Vec<_> = found.iter().map(|(name, addresses, _)| (*name, addresses[0].as_str())).collect();
        assert_eq!(names, expected, "cut at {cut}");
        assert!(found.iter().all(|(.., wait)| wait.is_some_and(|wait| (ms(19.0)..=ms(20.0)).contains(&wait))));
        assert_eq!(analysis.lookups.answered()[0].transport, Transport::Tcp);
    }
}

#[test]
fn an_answer_without_all_its_fragments_is_counted_with_its_question() {
    let records: Vec<Vec<u8>> = (0..90).map(|number| record(ASKED, A, &[192, 0, 2, number])).collect();
    let whole = datagram(true, &answer(7, "big.example", A, &records));
    let payload = &whole[34..];
    let piece = |field: u16, part: &[u8]| {
        let mut ip = frames::ipv4_with(&[], field, 17, part);
        ip[12..20].rotate_left(4);
        frames::ethernet(0x0800, &ip)
    };
    let first = piece(0x2000, &payload[..800]);
    let asked = |id| datagram(false, &query(id, "big.example", A));
    let analysis = |frames: &[Frame]| analysis_of(frames, &Options::default());
    let cut = analysis(&[at(0.0, &asked(7)), at(20.0, &first)]);
    let [one] = &cut.resolutions.list[..] else { panic!("one name") };
    assert_eq!((one.fragments_lost, one.is_unanswered()), (1, true));
    let other = analysis(&[at(0.0, &asked(8)), at(20.0, &first)]);
    assert_eq!(other.resolutions.list[0].fragments_lost, 0, "an answer to another question");
    let complete = analysis(&[at(0.0, &asked(7)), at(20.0, &first), at(21.0, &piece(100, &payload[800..]))]);
    let [one] = &complete.resolutions.list[..] else { panic!("one name") };
    assert_eq!((one.fragments_lost, one.is_unanswered()), (0, false));
    let text = json_of(&cut);
    assert!(text.contains("\"fragments_lost\":1,"), "{text}");
}

#[test]
fn several_threads_give_the_same_lookups() {
    let frames: Vec<Frame> = (0..2000_u16)
        .flat_map(|number| {
            let asked = format!("n{number}.example");
            let time_ms = f64::from(number);
            let [high, low] = number.to_be_bytes();
            let answered = answer(number, &asked, A, &[record(ASKED, A, &[192, 0, high, low])]);
            [at(time_ms, &datagram(false, &query(number, &asked, A))), at(time_ms + 0.5, &datagram(true, &answered))]
        })
        .collect();
    let file = captures::plain_pcap(&frames);
    let one = analysis_in_small_chunks(std::slice::from_ref(&file), &Options::default());
    let many = analysis_in_small_chunks(&[file], &Options { threads: 4, ..Options::default() });
    assert_eq!(one.lookups.all().len(), 2000);
    assert_eq!(one.lookups.all(), many.lookups.all());
}

#[test]
fn what_is_kept_is_bounded_and_what_is_not_is_counted() {
    let exchange = |time_ns| Exchange {
        addresses: [address("192.0.2.53"), address("10.0.0.1")],
        ports: [53, 40_000],
        time_ns,
        frame: 1,
        input: 0,
        transport: Transport::Udp,
    };
    let mut lookups = Lookups::default();
    let answered = answer(1, "a.example", A, &[record(ASKED, A, &[192, 0, 2, 1])]);
    let unasked = query(2, "b.example", A);
    for time_ns in 0..70_000 {
        lookups.message(exchange(time_ns), &answered, false);
        let Exchange { addresses: [a, b], .. } = exchange(0);
        let asked = Exchange { addresses: [b, a], ports: [time_ns as u16, 53], ..exchange(time_ns) };
        lookups.message(asked, &unasked, false);
    }
    // Answers to nobody are kept apart: they take no room from questions.
    assert_eq!((lookups.all().len(), lookups.answered().len()), (65_536, 4096));
    let counts = lookups.counts;
    assert_eq!((counts.unasked, counts.answers_not_kept), (70_000, 70_000 - 4096));
    // Those asked from a port once more are retries.
    assert_eq!(counts.questions_not_kept, 4096);
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in any::<bool>()) {
        if let Some(message) = read_message(&bytes, cut) {
            prop_assert!(message.addresses.len() <= 64 && message.aliases.len() <= 16);
        }
    }

    #[test]
    fn bytes_changed_anywhere_in_an_answer_do_no_harm(
        at in 0_usize..100, byte in any::<u8>(), end in 0_usize..120,
    ) {
        let records = [record(ASKED, CNAME, &name("b.example")), record(&name("b.example"), A, &[192, 0, 2, 1])];
        let mut bytes = answer(1, "a.example", A, &records);
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(end.max(1));
        if let Some(message) = read_message(&bytes, true) {
            prop_assert!(message.name.is_none_or(|name| name.len() <= 4 * 255));
        }
    }

    #[test]
    fn streams_of_any_bytes_in_any_segments_do_no_harm(
        segments in prop::collection::vec((0_u64..3000, prop::collection::vec(any::<u8>(), 0..200), 0_u32..400), 0..40),
    ) {
        let mut streams = DnsStreams::new();
        let exchange = Exchange {
            addresses: [address("192.0.2.53"), address("10.0.0.1")],
            ports: [53, 40_000],
            time_ns: 0,
            frame: 1,
            input: 0,
            transport: Transport::Tcp,
        };
        for (offset, bytes, length) in segments {
            streams.segment(exchange, 1, offset, &bytes, length);
        }
        streams.into_lookups();
    }
}

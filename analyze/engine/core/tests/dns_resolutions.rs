//! What programs waited for: types, retries and suffixes of a name put together, and the connections that followed.
//!
//! Subjects: `dns/resolutions.rs`, `output/describe/names.rs`.

use std::net::IpAddr;

use crate::playbook::{START_NS, ms};
use vmtrace_core::dns::resolutions::{Follower, Resolution, resolutions};
use vmtrace_core::dns::{Exchange, Lookups, Transport};

const A: u16 = 1;
const AAAA: u16 = 28;
const NO_SUCH_NAME: u8 = 3;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A resolver and its client, at the client.
#[derive(Default)]
struct Wire(Lookups);

impl Wire {
    fn pass(
        &mut self,
        time_ms: f64,
        id: u16,
        name: &str,
        kind: u16,
        answer: Option<(u8, u8, bool)>,
        transport: Transport,
    ) {
        let labels = name.split('.').flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat());
        let name: Vec<u8> = labels.chain([0]).collect();
        let question = [&name[..], &kind.to_be_bytes(), &[0, 1]].concat();
        let (flags, count) = match answer {
            Some((code, addresses, cut)) => ([0x81 | if cut { 2 } else { 0 }, 0x80 | code], addresses),
            None => ([1, 0], 0),
        };
        let header = [&id.to_be_bytes()[..], &flags, &[0, 1, 0, count, 0, 0, 0, 0]].concat();
        let data = if kind == A { vec![192, 0, 2, 1] } else { vec![0xfd; 16] };
        let record = [&[0xc0, 12][..], &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60, 0, data.len() as u8], &data].concat();
        let records = record.repeat(usize::from(count));
        let ends = [address("10.0.0.1"), address("10.0.0.53")];
        let (addresses, ports) = match answer {
            None => (ends, [40_000, 53]),
            Some(_) => ([ends[1], ends[0]], [53, 40_000]),
        };
        let exchange = Exchange { addresses, ports, time_ns: START_NS + ms(time_ms), frame: 1, input: 0, transport };
        self.0.message(exchange, &[header, question, records].concat(), false);
    }

    fn ask(&mut self, time_ms: f64, id: u16, name: &str, kind: u16) -> &mut Self {
        self.pass(time_ms, id, name, kind, None, Transport::Udp);
        self
    }

    fn answer(&mut self, time_ms: f64, id: u16, name: &str, kind: u16, code: u8) -> &mut Self {
        self.pass(time_ms, id, name, kind, Some((code, u8::from(code == 0), false)), Transport::Udp);
        self
    }

    fn waits(&self, connections_ms: &[f64]) -> Vec<Resolution> {
        let followers = connections_ms.iter().zip(1..).map(|(&start_ms, id)| Follower {
            id,
            addresses: [address("10.0.0.1"), address("192.0.2.1")],
            start_ns: START_NS + ms(start_ms),
        });
        resolutions(self.0.all(), followers).list
    }
}

#[test]
fn a_lost_query_of_one_type_is_waited_for_by_both() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "web.test", A).ask(0.1, 2, "web.test", AAAA).answer(8.0, 1, "web.test", A, 0);
    // One after the other, after five seconds, with the same numbers.
    wire.ask(5005.0, 1, "web.test", A).answer(5013.0, 1, "web.test", A, 0);
    wire.ask(5013.1, 2, "web.test", AAAA).answer(5020.0, 2, "web.test", AAAA, 0);
    let [one] = &wire.waits(&[5021.0])[..] else { panic!("one lookup") };
    assert_eq!(one.waited_ns, Some(ms(5020.0)));
    assert_eq!((one.tries, one.queries, one.unanswered, &one.connections[..]), (2, 4, 1, &[1][..]));
    assert_eq!((&one.kinds[..], one.response_ns), (&[A, AAAA][..], Some(ms(6.9))));
}

#[test]
fn a_type_that_never_comes_is_waited_for_until_the_connection() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "web.test", A).ask(0.0, 2, "web.test", AAAA).answer(8.0, 1, "web.test", A, 0);
    assert_eq!(wire.waits(&[3000.0])[0].waited_ns, Some(ms(3000.0)));
    assert_eq!(wire.waits(&[9.0])[0].waited_ns, Some(ms(8.0)), "it did not wait");
    assert_eq!(wire.waits(&[])[0].waited_ns, None, "nobody knows");
}

#[test]
fn the_answer_that_came_after_the_connection_was_not_used() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "web.test", A).ask(0.0, 2, "web.test", AAAA).answer(8.0, 1, "web.test", A, 0);
    wire.answer(700.0, 2, "web.test", AAAA, 0);
    assert_eq!(wire.waits(&[9.0])[0].waited_ns, Some(ms(8.0)));
}

#[test]
fn suffixes_tried_in_vain_belong_to_the_search() {
    let mut wire = Wire::default();
    for (number, name) in (0u16..).zip(["db.shop.svc.cluster.local", "db.shop.cluster.local"]) {
        let at = f64::from(number) * 10.0;
        wire.ask(at, 1 + 2 * number, name, A).ask(at, 2 + 2 * number, name, AAAA);
        wire.answer(at + 9.0, 1 + 2 * number, name, A, NO_SUCH_NAME);
        wire.answer(at + 9.5, 2 + 2 * number, name, AAAA, NO_SUCH_NAME);
    }
    wire.ask(20.0, 7, "db.shop", A).answer(26.0, 7, "db.shop", A, 0);
    let [one] = &wire.waits(&[])[..] else { panic!("one search") };
    assert_eq!(one.searched, ["svc.cluster.local", "cluster.local"]);
    assert_eq!((one.name.as_str(), one.waited_ns, one.rcode), ("db.shop", Some(ms(26.0)), Some(0)));
}

#[test]
fn programs_that_ask_at_the_same_time_do_not_retry() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "web.test", A).ask(2.0, 2, "web.test", A);
    wire.answer(8.0, 1, "web.test", A, 0).answer(9.0, 2, "web.test", A, 0);
    let waits = wire.waits(&[]);
    assert_eq!(waits.iter().map(|one| one.tries).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn a_cut_response_is_followed_over_tcp() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "big.test", A);
    wire.pass(5.0, 1, "big.test", A, Some((0, 0, true)), Transport::Udp);
    wire.pass(11.0, 2, "big.test", A, None, Transport::Tcp);
    wire.pass(17.0, 2, "big.test", A, Some((0, 1, false)), Transport::Tcp);
    let [one] = &wire.waits(&[])[..] else { panic!("one lookup") };
    assert_eq!((one.truncated, one.transport, one.waited_ns), (true, Transport::Tcp, Some(ms(17.0))));
    assert_eq!(one.unanswered, 0);
}

#[test]
fn an_answer_about_another_name_is_none() {
    let mut wire = Wire::default();
    wire.ask(0.0, 1, "web.test", A).answer(1.0, 1, "evil.test", A, 0).answer(8.0, 1, "web.test", A, 0);
    assert_eq!((wire.waits(&[])[0].waited_ns, wire.0.counts.mismatched), (Some(ms(8.0)), 1));
}

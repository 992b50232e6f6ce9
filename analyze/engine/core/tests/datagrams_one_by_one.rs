//! Datagrams that name each other, that are known in another capture, and that are around connections.
//!
//! Subjects: `flows/exchanges.rs`, `flows/passings.rs`, `output/describe/tunnels.rs`.

use crate::datagram_flows::{analysis, flows, in_vxlan, udp};
use crate::playbook::captures::Frame;
use crate::playbook::*;
use serde_json::Value;
use vmtrace_core::analysis::Options;

#[test]
fn requests_of_stun_and_ntp_have_their_round_trips() {
    let stun = |kind: u8, transaction: u8| [&[kind, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[transaction; 12]].concat();
    let ntp = |mode: u8, at: usize, stamp: u8| {
        let mut bytes = vec![0x20 | mode; 1];
        bytes.resize(48, 0);
        bytes[at..at + 8].fill(stamp);
        bytes
    };
    let mut list = Vec::new();
    for round in 0..10u8 {
        let at = f64::from(round) * 1000.0;
        list.push(udp(at, true, [40_001, 3478], &stun(0, round)));
        list.push(udp(at + 1.0, true, [40_002, 123], &ntp(3, 40, round + 1)));
        if round != 4 {
            list.push(udp(at + 20.0 + f64::from(round), false, [40_001, 3478], &stun(1, round)));
            list.push(udp(at + 41.0, false, [40_002, 123], &ntp(4, 24, round + 1)));
        }
    }
    let analysis = analysis(&list);
    let [stun, ntp] = flows(&analysis) else { panic!("two flows") };
    let (samples, sorted) = stun.lanes[0].exchanges.as_ref().unwrap().round_trips();
    assert_eq!((samples, sorted.first(), sorted.last()), (9, Some(&ms(20.0)), Some(&ms(29.0))));
    assert_eq!(ntp.lanes[0].exchanges.as_ref().unwrap().round_trips(), (9, vec![ms(40.0); 9]));
    let text = json_of(&analysis);
    assert_eq!(text.matches("\"requests\":10,\"unanswered_requests\":1").count(), 2, "{text}");
    assert!(text.contains("\"rtt\":{\"samples\":9,\"min_s\":0.02,\"median_s\":0.025"), "{text}");
}

#[test]
fn datagrams_are_known_by_what_they_hold() {
    let mut list = vec![
        udp(0.0, true, [40_000, 9999], b"one and the same"),
        udp(1.0, false, [40_000, 9999], b"one and the same"),
        udp(2.0, true, [40_000, 9999], b"one and the other"),
        udp(3.0, true, [40_000, 9999], b"one and the sane"),
    ];
    let known = |list: &[Frame], bytes: u32| {
        let options = Options { datagrams_known_by_bytes: Some(bytes), ..Options::default() };
        let analysis = analysis_of(list, &options);
        let passings = analysis.datagrams.flows.passings().unwrap();
        let digests: Vec<u64> = passings.list().iter().map(|one| one.digest).collect();
        let sides: Vec<u8> = passings.list().iter().map(|one| one.side).collect();
        assert_eq!(sides, [0, 1, 0, 0]);
        (digests, passings.least_captured())
    };
    let (digests, least) = known(&list, 1000);
    assert!(digests[0] == digests[1] && digests[2] != digests[0] && digests[3] != digests[0]);
    assert_eq!(least, None);
    list[3].bytes.truncate(42 + 9);
    assert_eq!(known(&list, 1000).1, Some(9));
    let (digests, least) = known(&list, 9);
    assert!(digests[3] == digests[0] && digests[2] != digests[0], "the length counts, too");
    assert_eq!(least, None);
}

#[test]
fn a_tunnel_names_the_connections_inside_it() {
    let within = |inner: &Frame| in_vxlan(inner, true);
    let inside: Vec<Frame> = Talk::seen_at_server(10.0).frames().iter().map(within).collect();
    let text = json_of(&analysis(&inside));
    let expected = "\"tunnels\":[{\"kind\":\"vxlan\",\"outer\":[\"10.1.2.3\",\"192.168.7.9\"],\"id\":7,\"connections\":[1],\"connections_count\":1,";
    assert!(text.contains(expected), "{text}");
    assert!(json_of(&analysis(Talk::seen_at_server(10.0).frames())).contains("\"tunnels\":[],"));
}

#[test]
fn a_flow_names_its_tunnel_and_the_tunnel_its_flows_whoever_was_seen_first() {
    // The response of a server, and a request before it or not; then 24 flows more, of which the first are named.
    let answered = [udp(0.0, true, [50_000, 123], &[7; 48]), udp(20.0, false, [50_000, 123], &[7; 48])];
    let answered: Vec<Frame> = [true, false].into_iter().zip(&answered).map(|(to, one)| in_vxlan(one, to)).collect();
    let more = (0..24_u16).map(|n| in_vxlan(&udp(100.0 + f64::from(n), true, [50_001 + n, 9], &[1; 20]), true));
    let more: Vec<Frame> = more.collect();
    for from in [0, 1] {
        let list = [&answered[from..], &more[..], &[udp(900.0, true, [60_000, 9], &[1; 20])]].concat();
        let document: Value = serde_json::from_str(&json_of(&analysis(&list))).unwrap();
        let flows = document["flows"].as_array().unwrap();
        let path = serde_json::json!([{"kind": "vxlan", "outer": ["10.1.2.3", "192.168.7.9"], "id": 7}]);
        assert_eq!((flows.len(), &flows[0]["tunnel"], &flows[24]["tunnel"]), (26, &path, &path), "from frame {from}");
        assert!(flows[25].get("tunnel").is_none());
        let [tunnel] = &document["tunnels"].as_array().unwrap()[..] else { panic!("one tunnel") };
        assert_eq!((&tunnel["outer"], &tunnel["flows_count"]), (&path[0]["outer"], &serde_json::json!(25)));
        assert_eq!(tunnel["flows"], serde_json::json!((1..=20).collect::<Vec<_>>()));
        assert_eq!((&tunnel["packets"], &tunnel["connections"]), (&(26 - from).into(), &serde_json::json!([])));
    }
}

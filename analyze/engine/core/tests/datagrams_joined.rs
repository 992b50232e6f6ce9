//! Several datagrams that were captured as one frame say what they say one by one.
//!
//! Subjects: `quic/joined.rs`, `flows/layouts.rs`, `flows/flow.rs`, `flows/table.rs`.

use crate::datagram_flows::udp;
use crate::messages::{extension, message};
use crate::playbook::captures::Frame;
use crate::playbook::{analysis_of, json_of};
use crate::quic_with_keys::{CLIENT_PARAMETERS, SECRETS, SERVER_PARAMETERS, keys, stream};
use crate::sealed::{ODCID, RANDOM, client_hello, crypto, handshake, initial, server_hello, short};
use proptest::prelude::*;
use serde_json::Value;
use vmtrace_core::analysis::{Analysis, Options};

const PORTS: [u16; 2] = [40_000, 443];

/// Payloads that are handed over together: who sends them, and when.
type Train = (bool, f64, Vec<Vec<u8>>);

/// Short headers carry the first id of these if the server sends them, the second if the client does.
fn talk(ids: [&[u8]; 2], trains: &[(usize, Vec<usize>)]) -> Vec<Train> {
    let [client_id, server_id] = ids;
    let mut hello = crypto(0, &client_hello(&CLIENT_PARAMETERS));
    hello.resize(1150, 0);
    let list = [extension(16, &[0, 3, 2, b'h', b'3']), extension(57, &SERVER_PARAMETERS)].concat();
    let extensions = message(8, &[&(list.len() as u16).to_be_bytes()[..], &list].concat());
    let reply = initial(1, &ODCID, [client_id, server_id], &[], 0, &crypto(0, &server_hello()));
    let flight = |number: u16, bytes: usize| {
        let mut contents = if number == 0 { crypto(0, &extensions) } else { Vec::new() };
        let header = handshake(&SECRETS[0][1], [client_id, server_id], number, &[0; 4]).len() - 4;
        contents.resize(bytes - header, 0);
        handshake(&SECRETS[0][1], [client_id, server_id], number, &contents)
    };
    let first = [&reply[..], &flight(0, 1200 - reply.len())].concat();
    let mut all = vec![
        (true, 0.0, vec![initial(0, &ODCID, [&ODCID, client_id], &[], 0, &hello)]),
        (false, 41.0, vec![first, flight(1, 1200), flight(2, 700)]),
    ];
    let mut numbers = [0u16; 2];
    for (place, (side, sizes)) in trains.iter().enumerate() {
        let payloads = sizes.iter().map(|&bytes| {
            let head = 1 + ids[1 - side].len() + 2 + 16;
            let number = numbers[*side];
            numbers[*side] += 1;
            let contents = stream(number * 100, 10);
            let contents = [&contents[..], &vec![0; bytes.saturating_sub(head + contents.len())]].concat();
            short([&SECRETS[1][*side]; 2], u8::from(place % 4 > 1) << 5, ids[1 - side], number, &contents)
        });
        all.push((*side == 0, 60.0 + 20.0 * place as f64, payloads.collect()));
    }
    all
}

fn frames(trains: &[Train], are_joined: bool) -> Vec<Frame> {
    let frames_of = |(from_client, at, payloads): &Train| {
        let joined = if are_joined { vec![payloads.concat()] } else { payloads.clone() };
        joined.iter().map(|payload| udp(*at, *from_client, PORTS, payload)).collect::<Vec<_>>()
    };
    trains.iter().flat_map(frames_of).collect()
}

fn read(frames: &[Frame], with_keys: bool) -> (Value, Vec<(u64, u8)>) {
    let key_log = if with_keys { keys(RANDOM) } else { Default::default() };
    let options = Options { datagrams_known_by_bytes: Some(2000), key_log, ..Options::default() };
    let analysis: Analysis = analysis_of(frames, &options);
    let passings = analysis.datagrams.flows.passings().unwrap().list();
    let known = passings.iter().map(|one| (one.digest, one.side)).collect();
    let document: Value = serde_json::from_str(&json_of(&analysis)).unwrap();
    (document["flows"][0].clone(), known)
}

/// As it is joined, and as it was sent.
fn both(trains: &[Train], with_keys: bool) -> [(Value, Vec<(u64, u8)>); 2] {
    [true, false].map(|are_joined| read(&frames(trains, are_joined), with_keys))
}

fn datagrams(flow: &Value) -> [Value; 2] {
    ["client_to_server", "server_to_client"].map(|way| flow[way]["datagrams"].clone())
}

const IDS: [&[u8]; 2] = [&[0xc1, 2, 3, 4, 5, 6, 7, 8], &[0x5e, 9, 10, 11]];

#[test]
fn ids_show_where_the_next_datagram_begins() {
    let bulk =
        [(1, vec![1252, 1252, 1252, 300]), (0, vec![40]), (1, vec![1252, 60]), (0, vec![900; 20]), (1, vec![50])];
    let trains = talk(IDS, &bulk);
    for with_keys in [false, true] {
        let [(joined, known), (plain, singly)] = both(&trains, with_keys);
        assert_eq!(joined["quic"], plain["quic"]);
        assert_eq!(known, singly, "what is compared with another capture");
        assert_eq!(datagrams(&joined), [22, 10].map(Value::from));
        assert_eq!(datagrams(&joined), datagrams(&plain));
        assert_eq!(
            (&joined["server_to_client"]["packets"], &plain["server_to_client"]["packets"]),
            (&4.into(), &10.into())
        );
    }
}

#[test]
fn without_ids_keys_prove_it_and_else_it_is_not_known() {
    let trains = talk(
        [&[], IDS[1]],
        &[(0, vec![1200; 2]), (1, vec![1252, 1252, 300]), (1, vec![1352, 1352, 80]), (1, vec![90])],
    );
    let [(joined, known), (plain, singly)] = both(&trains, true);
    assert_eq!((&joined["quic"], known), (&plain["quic"], singly));
    assert_eq!(datagrams(&joined), [3, 10].map(Value::from));
    let [(joined, _), (plain, _)] = both(&trains, false);
    assert_eq!((datagrams(&joined), datagrams(&plain)), ([3.into(), Value::Null], [3, 10].map(Value::from)));
    let reason = joined["quic"]["unread"].as_str().unwrap();
    assert_eq!(reason, "2 packets that may be several captured as one");
}

#[test]
fn a_large_datagram_is_one_and_one_that_was_cut_may_be_several() {
    let mut list = frames(&talk(IDS, &[(1, vec![8000]), (1, vec![8000])]), true);
    assert_eq!(datagrams(&read(&list, false).0), [1, 5].map(Value::from));
    list.last_mut().unwrap().bytes.truncate(42 + 100);
    assert_eq!(datagrams(&read(&list, false).0), [1.into(), Value::Null]);
}

#[test]
fn numbers_in_clear_text_show_it_too() {
    // WireGuard data of one session, as its counters go on, and media.
    let wireguard = |counter: u64, bytes: usize| {
        let head = [&[4, 0, 0, 0, 9, 8, 7, 6][..], &counter.to_le_bytes()].concat();
        [head, vec![counter as u8; bytes - 16]].concat()
    };
    let rtp = |number: u16, bytes: usize| {
        let head = [&[0x80, 96][..], &number.to_be_bytes(), &[0, 0, 1, 0, 1, 2, 3, 4]].concat();
        [head, vec![7; bytes - 12]].concat()
    };
    let sizes = [vec![96; 5], vec![1456, 1456, 1456, 96], vec![32], vec![96, 96], vec![1456; 30], vec![1456, 1456]];
    let mut counter = 0;
    let mut next = |bytes: &usize| {
        counter += 1;
        wireguard(counter, *bytes)
    };
    let tunnel = (0..).zip(&sizes).map(|(at, one)| (true, f64::from(at), one.iter().map(&mut next).collect()));
    let mut tunnel: Vec<Train> = tunnel.collect();
    // Counters 6 to 9 were dropped together.
    tunnel.remove(1);
    let media: Vec<Train> =
        (0..8u16).map(|at| (true, f64::from(at), (0..4).map(|one| rtp(at * 4 + one, 1000)).collect())).collect();
    for (trains, lost) in [(&tunnel, 4), (&media, 0)] {
        let [(joined, known), (plain, singly)] = both(trains, false);
        assert_eq!(joined["application"], plain["application"]);
        let [one, other] = [&joined, &plain].map(|flow| &flow["client_to_server"]);
        assert_eq!((&one["numbered"], &one["lost"], &one["reordered"]), (&other["numbered"], &lost.into(), &0.into()));
        assert_eq!((&one["datagrams"], known), (&other["datagrams"], singly));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_train_says_what_its_datagrams_say(
        trains in prop::collection::vec((0..2usize, 60..1472usize, 1..20usize, 0..1000usize), 1..8),
        are_short in any::<bool>(),
    ) {
        let trains = trains.into_iter().map(|(side, bytes, count, last)| {
            let mut sizes = vec![bytes; count];
            sizes.push(60 + last % (bytes - 59));
            (side, sizes)
        });
        let ids = if are_short { [&[][..], IDS[1]] } else { IDS };
        let trains = talk(ids, &trains.collect::<Vec<_>>());
        let [(joined, known), (plain, singly)] = both(&trains, true);
        prop_assert_eq!(&joined["quic"], &plain["quic"]);
        prop_assert_eq!(datagrams(&joined), datagrams(&plain));
        prop_assert_eq!(known, singly);
    }
}

//! A host that was recorded late is detected, and analysed without that (docs/methods.md, section 2 rule 4).

use crate::playbook::captures::{cases, plain_pcap};
use crate::playbook::hostile::{self, lines};
use crate::playbook::*;
use proptest::prelude::*;
use vmtrace_core::analysis::{Analysis, NoObserver, Options, analyze};
use vmtrace_core::output::packets;
use vmtrace_core::read::Input;
use vmtrace_core::tcp::capture::lag::{HostAddress, Lag};
use vmtrace_core::tcp::rows::rows::Field;

const LAG_MS: f64 = 5.0;

/// An upload at its receiver, which answers each segment at once; some are lost before.
fn upload(talk: Talk) -> Talk {
    talk.open(0.1, 40.0).each(0..60, |talk, n| {
        let time_ms = 50.0 + 3.0 * f64::from(n);
        let start = i64::from(n) * 1000;
        talk.client(time_ms, data(start, 1000)).server(time_ms + 0.01, ack(start + 1000))
    })
}

/// The same with all of the client's packets stamped late, in the order of their stamps.
fn late(talk: &Talk, lag_ms: f64) -> Vec<u8> {
    let mut frames = talk.frames().to_vec();
    let client = frames[0].bytes[26..30].to_vec();
    for frame in frames.iter_mut().filter(|frame| frame.bytes[26..30] == client[..]) {
        frame.time_ns += ms(lag_ms);
    }
    frames.sort_by_key(|frame| frame.time_ns);
    plain_pcap(&frames)
}

fn analysis(file: &[u8], options: &Options) -> Analysis {
    let input: Input = Box::new(std::io::Cursor::new(file.to_vec()));
    analyze(vec![input], options, &NoObserver).expect("a capture")
}

#[test]
fn a_late_host_is_told_and_put_right() {
    let talk = upload(Talk::new());
    for lag_ms in [0.5, LAG_MS, 300.0] {
        let file = late(&talk, lag_ms);
        let first = analysis(&file, &Options::default());
        assert_eq!(first.lags.iter().map(|lag| lag.lag_ns).collect::<Vec<_>>(), [ms(lag_ms) - 10_000]);
        assert_eq!((first.inputs[0].lag_ns, first.inputs[0].lag_removed), (Some(ms(lag_ms) - 10_000), false));
        for threads in [1, 3] {
            let options = Options { lags: first.lags.clone(), threads, ..Options::default() };
            let second = analysis(&file, &options);
            assert_eq!((second.lags.len(), second.inputs[0].lag_removed), (0, true));
            let (found, known) = (&second.connections[0], talk.summary());
            let [found, known] = [found, &known].map(|summary| &summary.directions[CLIENT]);
            assert_eq!(found.round_trips.map(|trips| trips.moments.count()), Some(60));
            assert_eq!(
                (found.loss.retransmitted, found.data_segments),
                (known.loss.retransmitted, known.data_segments)
            );
            assert_eq!(second.inputs[0].reordered, 0);
        }
    }
}

#[test]
fn data_that_the_capture_missed_is_no_lag() {
    let talk = Talk::new().open(0.1, 40.0).each(0..60, |talk, n| {
        let time_ms = 50.0 + 3.0 * f64::from(n);
        talk.server(time_ms, ack((i64::from(n) + 1) * 1000))
    });
    assert_eq!(talk.analysis().lags.len(), 0);
}

#[test]
fn a_capture_in_order_has_none() {
    let found = upload(Talk::new()).analysis();
    assert_eq!((found.lags.len(), found.inputs[0].lag_ns), (0, None));
}

#[test]
fn every_frame_comes_through_with_its_number() {
    let talk = upload(Talk::new());
    let file = late(&talk, LAG_MS);
    let lags = analysis(&file, &Options::default()).lags;
    let options = Options { lags, detail_connections: vec![1], ..Options::default() };
    let rows = analysis(&file, &options).rows;
    assert!(rows.values(Field::TimeNs).is_sorted());
    let mut frames = rows.values(Field::Frame);
    frames.sort_unstable();
    assert_eq!(frames, (1..=talk.frames().len() as i64).map(Some).collect::<Vec<_>>());
}

#[test]
fn packets_of_known_connections_have_their_true_times() {
    let file = late(&upload(Talk::new()), LAG_MS);
    let lags = analysis(&file, &Options::default()).lags;
    let by_number = Options { lags, detail_connections: vec![1], ..Options::default() };
    let measured = analysis(&file, &by_number);
    let (known_connections, lags) = measured.known(&[1], 0..1);
    let again = analysis(&file, &Options { known_connections, lags, ..Options::default() });
    assert_eq!(
        packets::packet_columns(&again).collect::<Vec<_>>(),
        packets::packet_columns(&measured).collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn of_any_packets_none_gets_lost_or_comes_twice(
        lines in lines(80),
        lag_ns in prop_oneof![0..100_000_000i64, any::<i64>()],
        threads in 1..3usize,
    ) {
        let file = hostile::file(&hostile::frames(&lines));
        let first = analysis(&file, &Options::default());
        let hosts = first.connections.iter().map(|one| HostAddress::of_side(&one.addresses, one.ip_version, 0));
        let lags = hosts.map(|host| Lag { input: 0, host, lag_ns }).collect();
        let second = analysis(&file, &Options { lags, threads, ..Options::default() });
        let facts = |found: &Analysis| (found.inputs[0].facts.packets, found.inputs[0].tcp_packets);
        prop_assert_eq!(facts(&first), facts(&second));
        let packets = |found: &Analysis| -> u64 {
            let directions = found.connections.iter().flat_map(|one| &one.directions);
            directions.map(|one| one.packets + u64::from(one.loss.capture_duplicates)).sum()
        };
        prop_assert_eq!(packets(&first) > 0, packets(&second) > 0);
    }
}

//! Whose turn it was while nothing was in flight: a server that thinks before it answers keeps its client waiting, one that
//! has not been asked does not (docs/verdict.md, `idle`).
//!
//! Subjects: `tcp/sender/turns.rs`, `tcp/verdict/factors/idle.rs`, `tcp/verdict/factors/application_window.rs`,
//! `tcp/verdict/factors/path_outage.rs`, `tcp/limits/after_data.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::summary::summary::ConnectionSummary;

const ROUND_TRIP_MS: f64 = 20.0;
/// Segments of an answer, a window of twenty in each round trip.
const ANSWER: i64 = 200;
/// Its last segment is not full, as most are.
const ANSWER_BYTES: i64 = ANSWER * 1000 - 300;
const WINDOW: i64 = 20;
/// The server's kernel acknowledges a request that is not answered by then.
const DELAYED_MS: f64 = 40.0;
/// The client's timestamp clock at 0 ms; it ticks once a millisecond.
const TICKS_AT_CLIENT: u32 = 1_000_000;

/// Where the capture is: how long a packet of the client is on its way there, and one of the server.
#[derive(Clone, Copy)]
struct Place {
    client_ms: f64,
    server_ms: f64,
}

const AT_SERVER: Place = Place { client_ms: ROUND_TRIP_MS / 2.0, server_ms: 0.0 };
const AT_CLIENT: Place = Place { client_ms: 0.0, server_ms: ROUND_TRIP_MS / 2.0 };

impl Place {
    fn open(self) -> Talk {
        Talk::new().with_timestamps().open(2.0 * self.server_ms + 0.05, 2.0 * self.client_ms + 0.05)
    }

    /// The client asks at `at_ms`, the server answers after it has thought. Returns when the last acknowledgement is sent.
    fn exchange(self, talk: Talk, number: i64, at_ms: f64, thinks_ms: f64) -> (Talk, f64) {
        let Place { client_ms, server_ms } = self;
        let way_ms = ROUND_TRIP_MS / 2.0;
        let ticks = |sent_ms: f64| TICKS_AT_CLIENT + sent_ms as u32;
        let request = data(number * 300, 300).acking(number * ANSWER_BYTES).tsval(ticks(at_ms));
        let mut lines = vec![(at_ms + client_ms, CLIENT, request)];
        if thinks_ms > DELAYED_MS {
            let answered_ms = at_ms + way_ms + DELAYED_MS;
            lines.push((answered_ms + server_ms, SERVER, ack((number + 1) * 300).tsecr(ticks(at_ms))));
        }
        let mut sent_ms = at_ms + way_ms + thinks_ms;
        for first in (0..ANSWER).step_by(WINDOW as usize) {
            for n in first..first + WINDOW {
                let (at, now_ms) = (number * ANSWER_BYTES + n * 1000, sent_ms + 0.1 * (n - first) as f64);
                // What the server has heard when it sends: the request, and then what was acknowledged a window before.
                let heard_ms = if first == 0 { at_ms } else { now_ms - way_ms };
                let end = (at + 1000).min((number + 1) * ANSWER_BYTES);
                let answer = data(at, (end - at) as u32).acking((number + 1) * 300).tsecr(ticks(heard_ms));
                let answer = if n + 1 < ANSWER { answer.without_push() } else { answer };
                lines.push((now_ms + server_ms, SERVER, answer));
                lines.push((now_ms + way_ms + client_ms, CLIENT, ack(end).tsval(ticks(now_ms + way_ms))));
            }
            sent_ms += ROUND_TRIP_MS;
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        let talk = lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment));
        (talk, sent_ms - way_ms + 0.1 * WINDOW as f64)
    }
}

/// Two answers, the second one after `idle_ms`, each after the server has thought for so long.
fn two_answers(place: Place, idle_ms: f64, thinks_ms: [f64; 2]) -> ConnectionSummary {
    let (talk, end_ms) = place.exchange(place.open(), 0, 30.0, thinks_ms[0]);
    place.exchange(talk, 1, end_ms + idle_ms, thinks_ms[1]).0.summary()
}

fn times_ms(summary: &ConnectionSummary, factor: Factor) -> f64 {
    let list = summary.limits(SERVER).map(|limits| limits.list()).unwrap_or_default();
    list.iter().find(|limit| limit.factor == factor).map_or(0.0, |limit| limit.time_ns as f64 / 1e6)
}

/// How much more time each side has in one of them: the server's application, its client.
fn more_ms(one: &ConnectionSummary, than: &ConnectionSummary) -> [f64; 2] {
    let of = |summary: &ConnectionSummary, factors: [Factor; 2]| {
        factors.map(|factor| times_ms(summary, factor)).iter().sum::<f64>()
    };
    let sides = [[Factor::Application, Factor::ServerWait], [Factor::Idle, Factor::ClientWait]];
    sides.map(|factors| of(one, factors) - of(than, factors))
}

/// As long, but for the rounds next to a pause, which may be called as it is.
fn about(time_ms: f64, expected_ms: f64) -> bool {
    (time_ms - expected_ms).abs() < 5.0 * ROUND_TRIP_MS
}

#[test]
fn a_server_that_thinks_before_it_answers_is_an_application() {
    for place in [AT_SERVER, AT_CLIENT] {
        let prompt = two_answers(place, 1.0, [0.1, 0.1]);
        for thinks_ms in [[1500.1, 0.1], [0.1, 1500.1]] {
            let thinking = two_answers(place, 1.0, thinks_ms);
            let [application_ms, idle_ms] = more_ms(&thinking, &prompt);
            assert!(about(application_ms, 1500.0), "{application_ms} ms, {thinks_ms:?}");
            assert!(about(idle_ms, 0.0), "{idle_ms} ms, {thinks_ms:?}");
            assert_eq!(thinking.verdict().map(|verdict| verdict.factor), Some(Factor::ServerWait));
        }
    }
}

#[test]
fn a_server_that_is_asked_late_was_idle() {
    for place in [AT_SERVER, AT_CLIENT] {
        let [prompt, late] = [1.0, 701.0].map(|idle_ms| two_answers(place, idle_ms, [0.1, 0.1]));
        let [application_ms, idle_ms] = more_ms(&late, &prompt);
        assert!(about(application_ms, 0.0), "{application_ms} ms");
        assert!(about(idle_ms, 700.0), "{idle_ms} ms");
    }
}

#[test]
fn a_connection_that_stays_open_after_the_last_answer_waits_for_its_client() {
    for place in [AT_SERVER, AT_CLIENT] {
        let (talk, end_ms) = place.exchange(place.open(), 0, 30.0, 0.1);
        let open = talk.clone().client(end_ms + 2000.0 + place.client_ms, fin(300).acking(ANSWER_BYTES));
        let open = open.server(end_ms + 2010.0 + place.server_ms, fin(ANSWER_BYTES).acking(301));
        let open = open.client(end_ms + 2020.0 + place.client_ms, ack(ANSWER_BYTES + 1));
        let [application_ms, idle_ms] = more_ms(&open.summary(), &talk.summary());
        assert!(about(application_ms, 0.0), "{application_ms} ms");
        assert!(about(idle_ms, 2000.0), "{idle_ms} ms");
    }
}

#[test]
fn a_receiver_that_closes_long_after_the_last_data_waited_for_nothing() {
    let full = i64::from(FULL);
    let talk = twenty_in_a_round_trip(Talk::seen_at_server(20.0), 21.0);
    let end = 60 * 20 * full;
    let talk = talk.server(6600.0, ack(end).window(60_000)).server(6600.1, fin(0)).client(6620.2, fin(end).acking(1));
    let verdict = talk.server(6620.3, ack(end + 1)).summary().verdict().expect("long enough");
    assert_eq!(verdict.factor, Factor::SendBuffer, "{}", verdict.sentence);
}

/// Twenty segments a round trip of 20 ms, sixty times, at their receiver.
fn twenty_in_a_round_trip(talk: Talk, first_ms: f64) -> Talk {
    let full = i64::from(FULL);
    (0..60i64).fold(talk, |talk, round| {
        talk.each(0..20i64, |talk, n| {
            let (at_ms, position) = (first_ms + 20.6 * round as f64 + 0.05 * n as f64, (20 * round + n) * full);
            talk.client(at_ms, data(position, FULL)).server(at_ms + 0.01, ack(position + full))
        })
    })
}

#[test]
fn a_first_flight_that_was_lost_on_the_way_made_a_timer_wait_and_not_the_application() {
    let factor = |lost| {
        let talk = Talk::seen_at_server(20.0).lost_before_capture(CLIENT, lost);
        twenty_in_a_round_trip(talk, 3500.0).summary().verdict().map(|verdict| verdict.factor)
    };
    assert_eq!(factor(0), Some(Factor::Application));
    assert_eq!(factor(1), Some(Factor::Application), "it may have been an acknowledgement");
    assert_eq!(factor(12), Some(Factor::TimeoutWait));
}

/// Segments of a message that one round trip takes whole.
const MESSAGE: i64 = 200;
const MESSAGE_BYTES: i64 = MESSAGE * 1000 - 300;

/// Messages of one side, each for a word of the other, which follows as soon as the message is there: never more in flight, and never a
/// pause.
fn messages(place: Place, of_server: bool, number: i64) -> ConnectionSummary {
    let way_ms = ROUND_TRIP_MS / 2.0;
    let (sender, other) = if of_server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
    let [sender_ms, other_ms] =
        if of_server { [place.server_ms, place.client_ms] } else { [place.client_ms, place.server_ms] };
    let mut lines = Vec::new();
    let mut sent_ms = 40.0;
    for message in 0..number {
        let start = message * MESSAGE_BYTES;
        for n in 0..MESSAGE {
            let (at, now_ms) = (start + n * 1000, sent_ms + 0.005 * n as f64);
            let end = (at + 1000).min(start + MESSAGE_BYTES);
            let segment =
                data(at, (end - at) as u32).acking(message * 300).tsecr(TICKS_AT_CLIENT + (now_ms - way_ms) as u32);
            lines.push((now_ms + sender_ms, sender, if n + 1 < MESSAGE { segment.without_push() } else { segment }));
            let answer = if n + 1 < MESSAGE { ack(end) } else { data(message * 300, 300).acking(end) };
            let answered_ms = now_ms + way_ms;
            lines.push((
                answered_ms + other_ms,
                other,
                answer.window(5000).tsval(TICKS_AT_CLIENT + answered_ms as u32),
            ));
        }
        sent_ms += ROUND_TRIP_MS + 0.005 * MESSAGE as f64 + 0.05;
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    lines.into_iter().fold(place.open(), |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment)).summary()
}

#[test]
fn messages_that_one_round_trip_takes_whole_are_no_limit_of_the_sender_s_buffer() {
    for place in [AT_SERVER, AT_CLIENT] {
        for (of_server, side) in [(true, SERVER), (false, CLIENT)] {
            let summary = messages(place, of_server, 60);
            let limits = summary.limits(side).map(|limits| limits.list()).unwrap_or_default();
            let of =
                |factor: Factor| limits.iter().find(|limit| limit.factor == factor).map_or(0.0, |limit| limit.fraction);
            assert!(of(Factor::Application) > 0.8, "{limits:?}");
            assert_eq!(of(Factor::SendBuffer), 0.0);
        }
    }
}

/// A server that sends 32 segments for each message of its client, and waits for the next one; seen at the server.
fn given_credit(message: i64) -> ConnectionSummary {
    const AMOUNT: i64 = 32;
    let mut lines = Vec::new();
    for number in 0..16 {
        let (asked_ms, sent) = (40.0 + 21.0 * number as f64, number * AMOUNT * 1000);
        lines.push((asked_ms, CLIENT, data(number * message, message as u32).acking(sent)));
        for n in 0..AMOUNT {
            let at_ms = asked_ms + 0.1 + 0.01 * n as f64;
            lines.push((at_ms, SERVER, data(sent + n * 1000, 1000).acking((number + 1) * message)));
            lines.push((at_ms + ROUND_TRIP_MS, CLIENT, ack(sent + (n + 1) * 1000)));
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let talk = Talk::new().open(0.05, ROUND_TRIP_MS);
    lines.into_iter().fold(talk, |talk, (time_ms, side, segment)| talk.line(side, time_ms, segment)).summary()
}

#[test]
fn the_same_amount_for_each_small_message_is_the_applications_window() {
    let factor = |message: i64| given_credit(message).verdict().map(|verdict| verdict.factor);
    assert_eq!(factor(13), Some(Factor::ApplicationWindow));
    assert_eq!(factor(600), Some(Factor::Application), "requests");
}

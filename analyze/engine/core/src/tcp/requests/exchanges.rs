//! Turns to exchanges: a request is what the client says, its response what the server says then, until the client sends again.
//!
//! That holds only where both take turns. Each stretch says whether its sender had received what came before (by its acknowledgement
//! number): a client that speaks before it has the response, a server that speaks before it has the request, or either that speaks
//! again after a pause without a word of the other, send messages of another pattern. Where these are many, nothing is reported.
//!
//! HTTP/2 inside TLS: a record of the client that may be window updates is one while the response goes on. Several short records
//! before a response, or one within it, are streams side by side: nothing is reported.
//!
//! What to check on a change: TLS 1.3 tickets, alerts and HTTP/2's settings are no responses; a capture may begin within a request.
//!
//! Rule: docs/methods.md, "Requests and responses".

use crate::tcp::requests::longest::Longest;
use crate::tcp::requests::open::{MOST_MESSAGE_BYTES, OpenExchange};
use crate::tcp::requests::opening::MessageOpening;
use crate::tcp::requests::said::{CLIENT, Said};

/// What a client sends while a response comes is no request if it is so short: flow control, keep-alive.
pub const MOST_CONTROL_BYTES: u64 = 64;

/// Exchanges to one message that does not belong to them, where the pattern still holds.
const EXCHANGES_TO_AN_EXCEPTION: u64 = 8;

/// Messages after a pause that say nothing about the pattern of a few exchanges.
const FEW_RESUMED: u64 = 2;

/// A short head and a shorter body look like two requests of HTTP/2; where all of so many requests do, they are that.
const FEWEST_OF_HEAD_AND_BODY: u64 = 3;

/// Why no requests are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Neither side answered the other.
    NoExchange,
    /// The file gives its packets no time.
    NoTime,
    /// SSH.
    Ssh,
    /// The snap length cut off what tells a TLS handshake from requests.
    SnapLength,
    /// The capture missed bytes inside TLS, and with them who spoke.
    MissingPackets,
    /// Several requests were under way at once, or both sides speak at once.
    Overlapping,
    /// One side sends again after pauses, without being asked or answered.
    Unprompted,
}

impl Reason {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoExchange => "no_exchange",
            Self::NoTime => "no_time",
            Self::Ssh => "ssh",
            Self::SnapLength => "snap_length",
            Self::MissingPackets => "missing_packets",
            Self::Overlapping => "overlapping",
            Self::Unprompted => "unprompted",
        }
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    open: Option<OpenExchange>,
    /// A short message without a response, before a pause: the head of a longer request, or none.
    before_pause: Option<OpenExchange>,
    /// What may be a request, or window updates within the response under way.
    doubtful: Option<(Said, bool)>,
    longest: Longest,
    /// Client stretches that began before the response was there, server stretches before the request was.
    overlaps: u64,
    /// Of HTTP/2: requests of two short records, and those of more or with another one within their response.
    pairs: u64,
    streams: u64,
    /// Messages after a pause in which the other side said nothing.
    resumed: u64,
    spoken_first: bool,
    over: Option<Reason>,
    upgraded: bool,
    /// The client began with the preface of HTTP/2.
    pub http2: bool,
}

impl Exchanges {
    /// Takes what a side has said. `partial`: the capture began within it.
    pub fn said(&mut self, said: &Said, partial: bool) {
        if self.over.is_some() || self.upgraded {
            return;
        }
        if let Some((doubtful, partial)) = self.doubtful.take()
            && !self.goes_on(said)
        {
            self.request(&doubtful, partial);
        }
        self.open.iter_mut().filter(|_| said.side == CLIENT).for_each(|open| open.expects(said));
        match (said.side == CLIENT, &mut self.open) {
            (true, Some(open)) if open.response.is_none() => open.continues(said),
            (true, _) if said.records.hidden => self.over = Some(Reason::SnapLength),
            (true, Some(open)) if !said.informed && open.may_be_updated_by(said) => {}
            (true, Some(open)) if open.may_be_updated_by(said) => self.doubtful = Some((*said, partial)),
            (true, Some(_)) if !said.informed && said.records.http2 => {
                self.streams += 1;
                self.request(said, partial);
            }
            (true, Some(_)) if !said.informed && said.bytes <= MOST_CONTROL_BYTES => {}
            (true, open) => {
                self.overlaps += u64::from(open.is_some() && !said.informed);
                self.request(said, partial);
            }
            (false, Some(open)) => {
                self.overlaps += u64::from(!open.answered_by(said, &mut self.before_pause));
            }
            (false, None) => self.spoken_first = true,
        }
    }

    /// The response goes on, with `said` or before it: what the client sent within it was no request.
    fn goes_on(&self, said: &Said) -> bool {
        let more_to_come = self.open.and_then(|open| open.response).is_some_and(|response| response.records.repeats);
        more_to_come || said.side != CLIENT && !said.informed
    }

    fn request(&mut self, said: &Said, partial: bool) {
        self.close();
        self.open = Some(OpenExchange::request(said, partial));
    }

    /// A message begins: what its first bytes reveal.
    pub fn begins(&mut self, opening: MessageOpening) {
        match opening {
            MessageOpening::Ssh => self.over = Some(Reason::Ssh),
            MessageOpening::Cut => self.over = Some(Reason::SnapLength),
            MessageOpening::HttpPipelined => self.over = Some(Reason::Overlapping),
            MessageOpening::Http2 => (self.over, self.http2) = (Some(Reason::Overlapping), true),
            _ => {}
        }
    }

    /// HTTP/1 ends with the response that was taken last.
    pub fn upgraded(&mut self) {
        self.close();
        self.upgraded = true;
    }

    /// The side that spoke last sends again after a pause.
    pub fn resumes(&mut self) {
        self.resumed += u64::from(!self.upgraded);
    }

    /// The client sends the body of a request whose head asks for 100 Continue, and has waited for it in vain.
    pub fn waited_for_continue(&mut self, wait_ns: u64) {
        self.longest.add_expected(wait_ns);
    }

    /// It is the client, and nobody has answered: what it said before was a message without a response, if it was short and
    /// what follows is no body.
    pub fn restarts(&mut self) {
        let is_message = |open: &mut OpenExchange| open.response.is_none() && open.request_bytes <= MOST_MESSAGE_BYTES;
        self.before_pause = self.open.take_if(is_message);
    }

    /// When the request that waits for its response began.
    pub fn waits_since_ns(&self) -> Option<i64> {
        self.open.filter(|open| open.response.is_none()).map(|open| open.start.0)
    }

    /// When the client sent what may be a request, or window updates.
    pub fn doubtful_since_ns(&self) -> Option<i64> {
        self.doubtful.map(|(said, _)| said.start.0)
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        if let Some(exchange) = open.exchange() {
            self.pairs += u64::from(open.records.requests == 2);
            self.streams += u64::from(open.records.requests > 2);
            self.longest.add(exchange);
        }
    }

    /// All exchanges, or why there are none.
    pub fn finish(mut self) -> Result<Longest, Reason> {
        self.close();
        let count = self.longest.count();
        match self.over {
            Some(reason) => Err(reason),
            None if self.has_streams(count) => Err(Reason::Overlapping),
            None if self.overlaps > 0 && self.overlaps * EXCHANGES_TO_AN_EXCEPTION > count => Err(Reason::Overlapping),
            None if self.resumed > count + FEW_RESUMED => Err(Reason::Unprompted),
            None if count == 0 => Err(Reason::NoExchange),
            None => {
                self.longest.shrink();
                Ok(self.longest)
            }
        }
    }

    fn has_streams(&self, count: u64) -> bool {
        let are_bodies = self.pairs == count && count >= FEWEST_OF_HEAD_AND_BODY;
        self.streams > 0 || self.pairs > 0 && !are_bodies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::requests::longest::Exchange;
    use crate::tcp::requests::said::Interim;
    use crate::tls::Records;
    use proptest::prelude::*;

    const SERVER: u8 = 1;

    fn said(side: u8, start_ns: i64, end_ns: i64, bytes: u64) -> Said {
        let [start, end] = [start_ns, end_ns].map(|time_ns| (time_ns, time_ns as u32));
        Said { side, start, end, bytes, records: Records::default(), informed: true, interim: Interim::No }
    }

    fn told(list: &[Said]) -> Result<Longest, Reason> {
        let mut exchanges = Exchanges::default();
        list.iter().for_each(|said| exchanges.said(said, false));
        exchanges.finish()
    }

    #[test]
    fn a_turn_of_each_side_is_an_exchange() {
        let list = [said(0, 100, 130, 400), said(SERVER, 1000, 1500, 9000), said(0, 2000, 2000, 10)];
        let longest = told(&list).expect("one");
        let exchange = longest.list[0];
        assert_eq!(longest.count(), 1, "the last request has no response");
        assert_eq!((exchange.request_ns, exchange.first_byte_ns, exchange.response_ns), (30, 870, 500));
        assert_eq!((exchange.request_bytes, exchange.response_bytes, exchange.frames), (400, 9000, [1000, 1500]));
    }

    #[test]
    fn an_interim_response_is_none() {
        let interim = Said { interim: Interim::Yes, ..said(SERVER, 200, 200, 25) };
        let list = [said(0, 100, 100, 200), interim, said(0, 300, 500, 90_000), said(SERVER, 900, 900, 300)];
        let exchange = told(&list).expect("one").list[0];
        assert_eq!((exchange.request_bytes, exchange.request_ns, exchange.first_byte_ns), (90_200, 400, 400));
    }

    #[test]
    fn a_response_as_long_as_a_continue_is_one_before_a_body_alone() {
        let of = |body: u64| {
            let maybe = Said { interim: Interim::Maybe, ..said(SERVER, 200, 200, 25) };
            let list = [said(0, 100, 100, 200), maybe, said(0, 300, 500, body), said(SERVER, 900, 900, 300)];
            told(&list).expect("some").count()
        };
        assert_eq!([of(90_000), of(200)], [1, 2]);
    }

    #[test]
    fn a_greeting_is_no_response() {
        let list = [said(SERVER, 1, 1, 60), said(0, 100, 100, 20), said(SERVER, 200, 200, 30)];
        assert_eq!(told(&list).expect("one").count(), 1);
    }

    #[test]
    fn both_sides_at_once_are_no_exchanges() {
        let busy = |index: i64| Said { informed: false, ..said((index % 2) as u8, index * 10, index * 10 + 5, 500) };
        let list: Vec<Said> = (0..40).map(busy).collect();
        assert_eq!(told(&list).expect_err("none"), Reason::Overlapping);
    }

    #[test]
    fn flow_control_within_a_response_is_no_request() {
        let update = Said { informed: false, ..said(0, 300, 300, 13) };
        let list = [said(0, 100, 100, 200), said(SERVER, 200, 290, 9000), update, said(SERVER, 310, 400, 9000)];
        let longest = told(&list).expect("one");
        assert_eq!((longest.count(), longest.list[0].response_bytes), (1, 18_000));
    }

    #[test]
    fn messages_after_pauses_are_no_responses() {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, 200), false);
        exchanges.said(&said(SERVER, 200, 9000, 9000), false);
        (0..10).for_each(|_| exchanges.resumes());
        assert_eq!(exchanges.finish().expect_err("pushes"), Reason::Unprompted);
    }

    /// A message, a pause, and what is asked then.
    fn after_a_pause(message: u64, request: u64) -> Exchange {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, message), false);
        exchanges.restarts();
        exchanges.said(&said(0, 5000, 5000, request), false);
        exchanges.said(&said(SERVER, 5200, 5200, 300), false);
        exchanges.finish().expect("one").list[0]
    }

    #[test]
    fn a_short_message_without_a_response_is_no_part_of_the_next_request() {
        assert_eq!(after_a_pause(39, 300).start.0, 5000);
        assert_eq!(after_a_pause(90_000, 300).start.0, 100);
    }

    #[test]
    fn a_head_that_waited_for_a_continue_belongs_to_its_body() {
        let upload = after_a_pause(186, 90_000);
        assert_eq!((upload.start.0, upload.request_bytes, upload.request_ns), (100, 90_186, 4900));
    }

    #[test]
    fn window_updates_within_a_response_are_no_requests() {
        let records = |last_bytes| Records { last_bytes, ..Records::default() };
        let update = Said { records: Records { window_updates: true, ..records(26) }, ..said(0, 300, 300, 26) };
        let part = |start_ns, last_bytes| Said {
            records: records(last_bytes),
            ..said(SERVER, start_ns, start_ns + 90, 20_000)
        };
        let of = |list: &[Said]| told(list).expect("some").count();
        let ask = said(0, 100, 100, 200);
        assert_eq!(
            of(&[ask, part(200, 36), part(290, 36), update, part(310, 16_384)]),
            1,
            "more of the same was to come"
        );
        assert_eq!(
            of(&[ask, part(200, 16_384), update, Said { informed: false, ..part(310, 700) }]),
            1,
            "sooner than it could"
        );
        assert_eq!(of(&[ask, part(200, 700), update, part(310, 900)]), 2, "a request as long as two updates");
    }

    #[test]
    fn several_short_records_of_http_2_are_several_requests() {
        let of = |requests: &[u16]| {
            let mut exchanges = Exchanges::default();
            for (turn, &requests) in (0..).zip(requests) {
                let records = Records { http2: true, requests, ..Records::default() };
                exchanges.said(&Said { records, ..said(0, turn * 1000, turn * 1000, 80) }, false);
                exchanges.said(&said(SERVER, turn * 1000 + 100, turn * 1000 + 200, 900), false);
            }
            exchanges.finish().map(|longest| longest.count())
        };
        assert_eq!(of(&[1, 1, 0, 1]), Ok(4));
        assert_eq!([of(&[1, 3, 1]), of(&[2]), of(&[1, 1, 1, 2])], [Err(Reason::Overlapping); 3]);
        assert_eq!(of(&[2, 2, 2]), Ok(3), "head and body each time");
    }

    #[test]
    fn what_begins_a_request_of_http_2_must_be_read() {
        let hidden =
            Said { records: Records { http2: true, hidden: true, ..Records::default() }, ..said(0, 300, 300, 60) };
        assert_eq!(told(&[hidden, said(SERVER, 400, 400, 900)]).expect_err("unread"), Reason::SnapLength);
        let ask = said(0, 100, 100, 60);
        assert_eq!(told(&[ask, hidden, said(SERVER, 400, 400, 900)]).expect("a body").count(), 1);
    }

    #[test]
    fn a_request_of_http_2_within_a_response_goes_beside_it() {
        let records = Records { http2: true, requests: 1, ..Records::default() };
        let second = Said { records, informed: false, ..said(0, 300, 300, 22) };
        let list = [said(0, 100, 100, 60), said(SERVER, 200, 290, 9000), second, said(SERVER, 310, 400, 9000)];
        assert_eq!(told(&list).expect_err("streams"), Reason::Overlapping);
    }

    #[test]
    fn an_upgraded_connection_ends_with_its_upgrade() {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, 200), false);
        exchanges.said(&said(SERVER, 200, 210, 130), false);
        exchanges.upgraded();
        (0..40).for_each(|index| exchanges.said(&said((index % 2) as u8, 300 + index, 300 + index, 90), false));
        assert_eq!(exchanges.finish().expect("one").count(), 1);
    }

    #[test]
    fn a_request_within_which_the_capture_begins_is_left_out() {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, 200), true);
        exchanges.said(&said(SERVER, 200, 210, 130), false);
        assert_eq!(exchanges.finish().expect_err("its start is unknown"), Reason::NoExchange);
    }

    proptest! {
        #[test]
        fn whatever_is_said_the_parts_sum_up(
            list in proptest::collection::vec((0u8..2, 0i64..1000, 0i64..1000, 0u64..100_000, any::<[bool; 2]>()), 0..60),
        ) {
            let mut time_ns = 0;
            let stretches: Vec<Said> = list.iter().map(|&(side, wait, length, bytes, [informed, interim])| {
                let start_ns = time_ns + wait;
                time_ns = start_ns + length;
                let interim = if interim { Interim::Yes } else { Interim::No };
                Said { informed, interim, ..said(side, start_ns, time_ns, bytes) }
            }).collect();
            if let Ok(longest) = told(&stretches) {
                let bytes: u64 = stretches.iter().map(|said| said.bytes).sum();
                let totals = longest.totals();
                prop_assert!(totals.request_bytes + totals.response_bytes <= bytes);
                for exchange in &longest.list {
                    let end_ns = exchange.start.0 + exchange.duration_ns() as i64;
                    prop_assert!(end_ns <= time_ns, "{:?}", exchange);
                }
            }
        }
    }
}

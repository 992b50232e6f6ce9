//! Turns to exchanges: a request is what the client says, its response what the server says then, until the client sends again.
//!
//! That holds only where both take turns. Each stretch says whether its sender had received what came before (by its acknowledgement
//! number): a client that speaks before it has the response, a server that speaks before it has the request, or either that speaks
//! again after a pause without a word of the other, send messages of another pattern. Where these are many, nothing is reported.
//!
//! What to check on a change: TLS 1.3 tickets, alerts and HTTP/2's settings are no responses; a capture may begin within a request.
//!
//! Rule: docs/methods.md, "Requests and responses".

use crate::tcp::requests::longest::{Exchange, Longest};
use crate::tcp::requests::opening::Opening;
use crate::tcp::requests::said::{CLIENT, Moment, Said};

/// What a client sends while a response comes is no request if it is so short: flow control, keep-alive.
const MOST_CONTROL_BYTES: u64 = 64;

/// What a client says without a response before it sends again after a pause is a part of its request if it is longer.
pub const MOST_MESSAGE_BYTES: u64 = 1460;

/// Exchanges to one message that does not belong to them, where the pattern still holds.
const EXCHANGES_TO_AN_EXCEPTION: u64 = 8;

/// Messages after a pause that say nothing about the pattern of a few exchanges.
const FEW_RESUMED: u64 = 2;

/// Why no requests are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Neither side answered the other.
    NoExchange,
    /// The file gives its packets no time.
    NoTime,
    /// SSH.
    Ssh,
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
            Self::Overlapping => "overlapping",
            Self::Unprompted => "unprompted",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Response {
    start: Moment,
    end: Moment,
    bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    start: Moment,
    request_end_ns: i64,
    request_bytes: u64,
    response: Option<Response>,
    /// The capture began within it.
    partial: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Exchanges {
    open: Option<Open>,
    longest: Longest,
    /// Client stretches that began before the response was there, server stretches before the request was.
    overlaps: u64,
    /// Messages after a pause in which the other side said nothing.
    resumed: u64,
    spoken_first: bool,
    over: Option<Reason>,
    upgraded: bool,
}

impl Exchanges {
    /// Takes what a side has said. `partial`: the capture began within it.
    pub fn said(&mut self, said: &Said, partial: bool) {
        if self.over.is_some() || self.upgraded {
            return;
        }
        match (said.side == CLIENT, &mut self.open) {
            (true, Some(open)) if open.response.is_none() => {
                open.request_end_ns = open.request_end_ns.max(said.end.0);
                open.request_bytes += said.bytes;
            }
            (true, Some(_)) if !said.informed && said.bytes <= MOST_CONTROL_BYTES => {}
            (true, open) => {
                self.overlaps += u64::from(open.is_some() && !said.informed);
                self.close();
                self.open = Some(Open::request(said, partial));
            }
            (false, Some(open)) => self.overlaps += u64::from(!open.answered_by(said)),
            (false, None) => self.spoken_first = true,
        }
    }

    /// A message begins: what its first bytes reveal.
    pub fn begins(&mut self, opening: Opening) {
        match opening {
            Opening::Ssh => self.over = Some(Reason::Ssh),
            Opening::HttpPipelined | Opening::Http2 => self.over = Some(Reason::Overlapping),
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

    /// It is the client, and nobody has answered: what it said before was a message without a response, if it was short.
    pub fn restarts(&mut self) {
        let is_message = |open: &mut Open| open.response.is_none() && open.request_bytes <= MOST_MESSAGE_BYTES;
        let _ = self.open.take_if(is_message);
    }

    /// When the request that waits for its response began.
    pub fn waits_since_ns(&self) -> Option<i64> {
        self.open.filter(|open| open.response.is_none()).map(|open| open.start.0)
    }

    fn close(&mut self) {
        if let Some(exchange) = self.open.take().and_then(|open| open.exchange()) {
            self.longest.add(exchange);
        }
    }

    /// All exchanges, or why there are none.
    pub fn finish(mut self) -> Result<Longest, Reason> {
        self.close();
        let count = self.longest.totals.count;
        match self.over {
            Some(reason) => Err(reason),
            None if self.overlaps > 0 && self.overlaps * EXCHANGES_TO_AN_EXCEPTION > count => Err(Reason::Overlapping),
            None if self.resumed > count + FEW_RESUMED => Err(Reason::Unprompted),
            None if count == 0 => Err(Reason::NoExchange),
            None => Ok(self.longest),
        }
    }
}

impl Open {
    fn request(said: &Said, partial: bool) -> Self {
        Self { start: said.start, request_end_ns: said.end.0, request_bytes: said.bytes, response: None, partial }
    }

    /// False for what the server says without having received the request.
    fn answered_by(&mut self, said: &Said) -> bool {
        match &mut self.response {
            Some(response) => {
                response.end = response.end.max(said.end);
                response.bytes += said.bytes;
            }
            None if said.interim => {}
            None if !said.informed => return false,
            None => self.response = Some(Response { start: said.start, end: said.end, bytes: said.bytes }),
        }
        true
    }

    fn exchange(&self) -> Option<Exchange> {
        let response = self.response.filter(|_| !self.partial)?;
        let between = |from_ns: i64, to_ns: i64| u64::try_from(to_ns.saturating_sub(from_ns)).unwrap_or(0);
        // A response may begin before the request has ended.
        let request_end_ns = self.request_end_ns.min(response.start.0);
        Some(Exchange {
            start: self.start,
            request_ns: between(self.start.0, request_end_ns),
            request_bytes: self.request_bytes,
            first_byte_ns: between(request_end_ns, response.start.0),
            response_ns: between(response.start.0, response.end.0),
            response_bytes: response.bytes,
            frames: [response.start.1, response.end.1],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SERVER: u8 = 1;

    fn said(side: u8, start_ns: i64, end_ns: i64, bytes: u64) -> Said {
        let [start, end] = [start_ns, end_ns].map(|time_ns| (time_ns, time_ns as u32));
        Said { side, start, end, bytes, informed: true, interim: false }
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
        assert_eq!(longest.totals.count, 1, "the last request has no response");
        assert_eq!((exchange.request_ns, exchange.first_byte_ns, exchange.response_ns), (30, 870, 500));
        assert_eq!((exchange.request_bytes, exchange.response_bytes, exchange.frames), (400, 9000, [1000, 1500]));
    }

    #[test]
    fn an_interim_response_is_none() {
        let interim = Said { interim: true, ..said(SERVER, 200, 200, 25) };
        let list = [said(0, 100, 100, 200), interim, said(0, 300, 500, 90_000), said(SERVER, 900, 900, 300)];
        let exchange = told(&list).expect("one").list[0];
        assert_eq!((exchange.request_bytes, exchange.request_ns, exchange.first_byte_ns), (90_200, 400, 400));
    }

    #[test]
    fn a_greeting_is_no_response() {
        let list = [said(SERVER, 1, 1, 60), said(0, 100, 100, 20), said(SERVER, 200, 200, 30)];
        assert_eq!(told(&list).expect("one").totals.count, 1);
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
        assert_eq!((longest.totals.count, longest.list[0].response_bytes), (1, 18_000));
    }

    #[test]
    fn messages_after_pauses_are_no_responses() {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, 200), false);
        exchanges.said(&said(SERVER, 200, 9000, 9000), false);
        (0..10).for_each(|_| exchanges.resumes());
        assert_eq!(exchanges.finish().expect_err("pushes"), Reason::Unprompted);
    }

    #[test]
    fn a_short_message_without_a_response_is_no_part_of_the_next_request() {
        for (bytes, start_ns) in [(39, 5000), (90_000, 100)] {
            let mut exchanges = Exchanges::default();
            exchanges.said(&said(0, 100, 100, bytes), false);
            exchanges.restarts();
            exchanges.said(&said(0, 5000, 5000, 300), false);
            exchanges.said(&said(SERVER, 5200, 5200, 300), false);
            assert_eq!(exchanges.finish().expect("one").list[0].start.0, start_ns);
        }
    }

    #[test]
    fn an_upgraded_connection_ends_with_its_upgrade() {
        let mut exchanges = Exchanges::default();
        exchanges.said(&said(0, 100, 100, 200), false);
        exchanges.said(&said(SERVER, 200, 210, 130), false);
        exchanges.upgraded();
        (0..40).for_each(|index| exchanges.said(&said((index % 2) as u8, 300 + index, 300 + index, 90), false));
        assert_eq!(exchanges.finish().expect("one").totals.count, 1);
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
                Said { informed, interim, ..said(side, start_ns, time_ns, bytes) }
            }).collect();
            if let Ok(longest) = told(&stretches) {
                let bytes: u64 = stretches.iter().map(|said| said.bytes).sum();
                prop_assert!(longest.totals.request_bytes + longest.totals.response_bytes <= bytes);
                for exchange in &longest.list {
                    let end_ns = exchange.start.0 + exchange.duration_ns() as i64;
                    prop_assert!(end_ns <= time_ns, "{:?}", exchange);
                }
            }
        }
    }
}

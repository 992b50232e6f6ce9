//! The exchange under way: a request, and what there is of its response.

use crate::tcp::requests::longest::Exchange;
use crate::tcp::requests::said::{Interim, Moment, Said};
use crate::tls::Records;

/// What a client says without a response before it sends again after a pause is a part of its request if it is longer.
pub const MOST_MESSAGE_BYTES: u64 = 1460;

/// A client waits no longer for a 100 Continue before it sends the body (curl and Go: 1 s).
const LONGEST_WAIT_FOR_CONTINUE_NS: i64 = 5_000_000_000;

/// A client's window is updated after no less.
const FEWEST_UPDATED_BYTES: u64 = 16 << 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Response {
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) bytes: u64,
    pub(super) records: Records,
    /// It was one of [`Interim::Maybe`].
    pub(super) may_be_interim: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OpenExchange {
    pub(super) start: Moment,
    pub(super) request_end_ns: i64,
    pub(super) request_bytes: u64,
    pub(super) records: Records,
    pub(super) response: Option<Response>,
    /// The capture began within it.
    pub(super) partial: bool,
}

impl OpenExchange {
    pub(super) fn request(said: &Said, partial: bool) -> Self {
        Self {
            start: said.start,
            request_end_ns: said.end.0,
            request_bytes: said.bytes,
            records: said.records,
            response: None,
            partial,
        }
    }

    /// What may have been an interim response was one, if a body follows.
    pub(super) fn expects(&mut self, said: &Said) {
        let is_body = said.bytes > MOST_MESSAGE_BYTES;
        let _ = self.response.take_if(|response| response.may_be_interim && is_body);
    }

    pub(super) fn continues(&mut self, said: &Said) {
        self.request_end_ns = self.request_end_ns.max(said.end.0);
        self.request_bytes += said.bytes;
        self.records = self.records.and(said.records);
    }

    pub(super) fn may_be_updated_by(&self, said: &Said) -> bool {
        said.records.window_updates && self.response.is_some_and(|response| response.bytes >= FEWEST_UPDATED_BYTES)
    }

    /// False for what the server says without having received the request. `before_pause`: what the client sent before a pause
    /// without a response.
    pub(super) fn answered_by(&mut self, said: &Said, before_pause: &mut Option<Self>) -> bool {
        match &mut self.response {
            Some(response) => {
                response.end = response.end.max(said.end);
                response.bytes += said.bytes;
                response.records = response.records.and(said.records);
                response.may_be_interim = false;
            }
            None if said.interim == Interim::Yes => {}
            None if !said.informed => return false,
            None => {
                let head = before_pause.take().filter(|head| self.is_body_of(head));
                head.into_iter().for_each(|head| self.begins_with(&head));
                let Said { start, end, bytes, records, interim, .. } = *said;
                let may_be_interim = interim == Interim::Maybe;
                self.response = Some(Response { start, end, bytes, records, may_be_interim });
            }
        }
        true
    }

    fn is_body_of(&self, head: &Self) -> bool {
        let wait_ns = self.start.0.saturating_sub(head.start.0);
        self.request_bytes > MOST_MESSAGE_BYTES && wait_ns <= LONGEST_WAIT_FOR_CONTINUE_NS
    }

    fn begins_with(&mut self, head: &Self) {
        self.start = head.start;
        self.request_bytes += head.request_bytes;
        self.partial |= head.partial;
    }

    pub(super) fn exchange(&self) -> Option<Exchange> {
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

    fn said(start_ns: i64, bytes: u64) -> Said {
        let at = (start_ns, 1);
        Said { side: 0, start: at, end: at, bytes, records: Records::default(), informed: true, interim: Interim::No }
    }

    #[test]
    fn a_response_that_may_be_interim_was_if_a_body_follows() {
        let mut open = OpenExchange::request(&said(1, 200), false);
        open.answered_by(&Said { side: 1, interim: Interim::Maybe, ..said(5, 25) }, &mut None);
        open.expects(&said(6, 200));
        assert!(open.response.is_some());
        open.expects(&said(6, 90_000));
        assert!(open.response.is_none() && open.exchange().is_none());
    }
}

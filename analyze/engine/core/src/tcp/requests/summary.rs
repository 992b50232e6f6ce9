//! What stays of a connection's requests, and which part of their time is the largest.

use crate::tcp::requests::longest::{Longest, RequestSums};
use crate::tcp::stats::compact::Measured;

/// Parts of the time that requests take, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// The TCP handshake.
    Handshake,
    /// The TLS handshake.
    Tls,
    /// Sending requests.
    Request,
    /// From the last byte of a request to the first of its response.
    FirstByte,
    /// Of that, what retransmissions of the request took.
    Retransmission,
    /// Sending responses.
    Response,
    /// From the end of a response to the next request.
    Between,
}

impl RequestPart {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Tls => "tls",
            Self::Request => "request",
            Self::FirstByte => "first_byte",
            Self::Retransmission => "retransmission",
            Self::Response => "response",
            Self::Between => "between",
        }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct RequestSummary {
    /// The exchanges.
    pub longest: Longest,
    /// First SYN to the end of the TCP handshake, nanoseconds; none if it was not captured.
    pub handshake_ns: Measured,
    /// The TLS handshake, nanoseconds; none without one, or if it was not captured.
    pub tls_ns: Measured,
    /// The shortest round trip from the capture point to the server: the part of each first byte that is the path's.
    pub server_loop_ns: Measured,
    /// The same to the client: the part of each pause before a request that is the path's.
    pub client_loop_ns: Measured,
    /// Of the time to first byte, what passed while the request was retransmitted.
    pub retransmitting_ns: u64,
}

impl RequestSummary {
    /// Each part with its time, nanoseconds.
    pub fn parts(&self) -> [(RequestPart, u64); 7] {
        let RequestSums { totals, between_ns, .. } = self.longest.sums();
        let retransmitting_ns = self.retransmitting_ns.min(totals.first_byte_ns);
        [
            (RequestPart::Handshake, self.handshake_ns.get().unwrap_or(0)),
            (RequestPart::Tls, self.tls_ns.get().unwrap_or(0)),
            (RequestPart::Request, totals.request_ns),
            (RequestPart::FirstByte, totals.first_byte_ns - retransmitting_ns),
            (RequestPart::Retransmission, retransmitting_ns),
            (RequestPart::Response, totals.response_ns),
            (RequestPart::Between, between_ns),
        ]
    }

    /// All parts together.
    pub fn time_ns(&self) -> u64 {
        all_ns(&self.parts())
    }

    /// All that requests took, without what passed between them.
    pub fn exchanges_ns(&self) -> u64 {
        let time_ns = self.time_ns();
        time_ns - self.longest.between_ns().min(time_ns)
    }

    /// The part that took more than half of the time.
    ///
    /// Rule: docs/methods.md, "The largest part of requests".
    pub fn largest(&self) -> Option<(RequestPart, u64)> {
        let parts = self.parts();
        let half_ns = all_ns(&parts) / 2;
        parts.into_iter().find(|(_, time_ns)| *time_ns > half_ns)
    }

    /// Of the time to first byte, what the path took: one round trip for each exchange.
    pub fn path_ns(&self) -> Option<u64> {
        let totals = self.longest.totals();
        self.server_loop_ns.get().map(|loop_ns| loop_ns.saturating_mul(totals.count).min(totals.first_byte_ns))
    }

    /// Of the time to first byte, what the server's application took; none where the path's part is not known.
    pub fn server_wait_ns(&self) -> Option<u64> {
        self.path_ns()
            .map(|path_ns| (self.longest.totals().first_byte_ns - path_ns).saturating_sub(self.retransmitting_ns))
    }

    /// From the end of a response to the next request, what the path took: one round trip to the client for each.
    pub fn client_path_ns(&self) -> Option<u64> {
        let pauses = self.longest.count().saturating_sub(1);
        self.client_loop_ns.get().map(|loop_ns| loop_ns.saturating_mul(pauses).min(self.longest.between_ns()))
    }

    /// What passes between messages because they are on their way.
    pub fn ways_ns(&self) -> u64 {
        self.path_ns().unwrap_or(0).saturating_add(self.client_path_ns().unwrap_or(0))
    }

    /// From the end of a response to the next request, what the client's application took.
    pub fn client_wait_ns(&self) -> Option<u64> {
        self.client_path_ns().map(|path_ns| self.longest.between_ns() - path_ns)
    }
}

fn all_ns(parts: &[(RequestPart, u64)]) -> u64 {
    parts.iter().fold(0, |sum, (_, time_ns)| sum.saturating_add(*time_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::requests::longest::Exchange;

    fn summary(request_ns: u64, first_byte_ns: u64, response_ns: u64) -> RequestSummary {
        let mut longest = Longest::default();
        longest.add(Exchange {
            start: (0, 1),
            request_ns,
            request_bytes: 10,
            first_byte_ns,
            response_ns,
            response_bytes: 20,
            frames: [2, 3],
        });
        RequestSummary {
            longest,
            handshake_ns: Some(100).into(),
            tls_ns: Measured::NONE,
            server_loop_ns: Some(30).into(),
            client_loop_ns: Some(0).into(),
            retransmitting_ns: 0,
        }
    }

    #[test]
    fn a_part_dominates_with_more_than_half_of_the_time() {
        let largest = |summary: &RequestSummary| summary.largest().map(|(part, _)| part);
        assert_eq!(largest(&summary(0, 400, 100)), Some(RequestPart::FirstByte));
        assert_eq!(largest(&summary(0, 10, 10)), Some(RequestPart::Handshake));
        assert_eq!(largest(&summary(200, 300, 100)), None);
    }

    #[test]
    fn a_request_that_was_retransmitted_waited_for_no_server() {
        let lost = RequestSummary { retransmitting_ns: 300, ..summary(0, 400, 0) };
        assert_eq!(lost.largest(), Some((RequestPart::Retransmission, 300)));
        assert_eq!([summary(0, 400, 0).server_wait_ns(), lost.server_wait_ns()], [Some(370), Some(70)]);
    }

    #[test]
    fn a_client_that_lets_time_pass_between_requests_has_the_largest_part() {
        let mut requests = summary(0, 400, 100);
        let next = Exchange { start: (1200, 4), first_byte_ns: 0, response_ns: 0, ..requests.longest.list[0] };
        requests.longest.add(next);
        assert_eq!(requests.largest(), Some((RequestPart::Between, 700)));
        assert_eq!(requests.exchanges_ns(), 600);
    }

    #[test]
    fn the_path_takes_no_more_of_a_first_byte_than_there_is() {
        assert_eq!([summary(0, 400, 0).path_ns(), summary(0, 20, 0).path_ns()], [Some(30), Some(20)]);
    }
}

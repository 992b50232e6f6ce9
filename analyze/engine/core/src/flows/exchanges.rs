//! Requests of one direction and the responses that name them: STUN by its transaction (RFC 8489 section 6), NTP by the time
//! that the client sent (RFC 5905 section 8).
//!
//! Rule: docs/methods.md, "Round trips of datagrams".

use std::collections::VecDeque;

use crate::decode::other::Udp;
use crate::quic::samples::Samples;

/// Requests that wait for their response.
const MOST_PENDING: usize = 64;

/// Nobody waits longer for a response.
const LONGEST_WAIT_NS: i64 = 60_000_000_000;

/// What a datagram is in an exchange, and the exchange's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangePart {
    Request(u128),
    Response(u128),
}

impl ExchangePart {
    /// Of a flow that carries STUN, or what STUN opens.
    pub(super) fn of_stun(udp: &Udp<'_>) -> Option<Self> {
        let &[k0, k1, l0, l1, 0x21, 0x12, 0xa4, 0x42, ref transaction @ ..] = udp.data.first_chunk::<20>()? else {
            return None;
        };
        let (kind, length) = (u16::from_be_bytes([k0, k1]), u16::from_be_bytes([l0, l1]));
        if kind >= 1 << 14 || u32::from(length) + 20 != udp.length {
            return None;
        }
        let number = transaction.iter().fold(0, |number, &byte| number << 8 | u128::from(byte));
        match kind & 0x0110 {
            0 => Some(Self::Request(number)),
            0x0100 | 0x0110 => Some(Self::Response(number)),
            _ => None,
        }
    }

    /// Of an NTP client or server.
    pub(super) fn of_ntp(udp: &Udp<'_>) -> Option<Self> {
        let stamp = |at: usize| udp.data.get(at..)?.first_chunk().map(|bytes| u64::from_be_bytes(*bytes).into());
        let part = match udp.data.first()? & 7 {
            3 => Self::Request(stamp(40)?),
            4 => Self::Response(stamp(24)?),
            _ => return None,
        };
        Some(part).filter(|part| !matches!(part, Self::Request(0) | Self::Response(0)))
    }
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    number: u128,
    since_ns: i64,
    /// It was retransmitted: nobody knows which of them is replied to.
    again: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    pending: VecDeque<Pending>,
    /// Requests, each once however often it was sent.
    pub requests: u64,
    /// Of them those with a response.
    pub responses: u64,
    round_trips: Samples,
}

impl Exchanges {
    pub(super) fn request(&mut self, number: u128, time_ns: i64) {
        if let Some(known) = self.pending.iter_mut().find(|pending| pending.number == number) {
            known.again = true;
            return;
        }
        if self.pending.len() >= MOST_PENDING {
            self.pending.pop_front();
        }
        self.pending.push_back(Pending { number, since_ns: time_ns, again: false });
        self.requests += 1;
    }

    pub(super) fn response(&mut self, number: u128, time_ns: i64) {
        let Some(place) = self.pending.iter().position(|pending| pending.number == number) else { return };
        let Some(pending) = self.pending.remove(place) else { return };
        let round_trip_ns = time_ns.saturating_sub(pending.since_ns);
        if (0..=LONGEST_WAIT_NS).contains(&round_trip_ns) {
            self.responses += 1;
            if !pending.again {
                self.round_trips.add(round_trip_ns);
            }
        }
    }

    /// How many round trips there were, and those that are kept, shortest first.
    pub fn round_trips(&self) -> (u64, Vec<i64>) {
        self.round_trips.sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(data: &[u8]) -> Udp<'_> {
        Udp { ports: [40_000, 3478], data, length: data.len() as u32 }
    }

    fn stun(kind: u16, transaction: u8) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &[0, 0, 0x21, 0x12, 0xa4, 0x42], &[transaction; 12]].concat()
    }

    #[test]
    fn transactions_of_stun_are_requests_and_responses() {
        let [one, other] =
            [1_u8, 2].map(|byte| [byte; 12].iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte)));
        assert_eq!(ExchangePart::of_stun(&udp(&stun(0x0001, 1))), Some(ExchangePart::Request(one)));
        assert_eq!(ExchangePart::of_stun(&udp(&stun(0x0101, 1))), Some(ExchangePart::Response(one)));
        assert_eq!(ExchangePart::of_stun(&udp(&stun(0x0111, 2))), Some(ExchangePart::Response(other)), "an error");
        assert_eq!(ExchangePart::of_stun(&udp(&stun(0x0011, 1))), None, "an indication");
        assert_eq!(ExchangePart::of_stun(&udp(&stun(0x8001, 1))), None, "media");
    }

    #[test]
    fn times_of_ntp_name_the_request() {
        let mut request = vec![0x23; 48];
        request[40..48].copy_from_slice(&7u64.to_be_bytes());
        let mut response = vec![0x24; 48];
        response[24..32].copy_from_slice(&7u64.to_be_bytes());
        assert_eq!(ExchangePart::of_ntp(&udp(&request)), Some(ExchangePart::Request(7)));
        assert_eq!(ExchangePart::of_ntp(&udp(&response)), Some(ExchangePart::Response(7)));
        request[40..48].fill(0);
        assert_eq!(ExchangePart::of_ntp(&udp(&request)), None, "without a time");
        assert_eq!(ExchangePart::of_ntp(&udp(&[0x26; 48])), None, "a control message");
    }

    #[test]
    fn what_was_retransmitted_gives_no_round_trip() {
        let mut exchanges = Exchanges::default();
        exchanges.request(1, 0);
        exchanges.response(1, 30);
        exchanges.request(2, 100);
        exchanges.request(2, 200);
        exchanges.response(2, 210);
        exchanges.request(3, 300);
        exchanges.response(9, 310);
        assert_eq!((exchanges.requests, exchanges.responses), (3, 2));
        assert_eq!(exchanges.round_trips(), (1, vec![30]));
    }
}

//! ICMP echo requests and their replies, in the order of the requests: round trips of pings that stand in a capture.
//!
//! Rule: docs/methods.md, "Round trips of ICMP echoes".

use std::collections::HashMap;
use std::net::IpAddr;

use crate::decode::echo::Echo;
use crate::keyed::move_places;

/// Requests that are kept of a capture.
const MOST_REQUESTS: usize = 1 << 20;

/// A request, and when its reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoRequest {
    /// The request.
    pub request: Echo,
    /// Time, Unix nanoseconds, and frame of the first reply.
    pub reply: Option<(i64, u32)>,
    /// It was seen more than once before a reply: which one was answered is open.
    pub is_repeated: bool,
}

impl EchoRequest {
    /// From request to reply, nanoseconds; none without a reply, and where it is open which request that was for.
    pub fn round_trip_ns(&self) -> Option<i64> {
        let (replied_ns, _) = self.reply.filter(|_| !self.is_repeated)?;
        Some(replied_ns.saturating_sub(self.request.time_ns)).filter(|round_trip_ns| *round_trip_ns >= 0)
    }
}

/// Who asks whom, and the identifier.
pub type FlowKey = (IpAddr, IpAddr, u16);

/// Requests of one program to one host.
#[derive(Debug, Clone, Default)]
pub struct EchoFlow {
    /// When each passed, and whether it had a reply.
    pub requests: Vec<(i64, bool)>,
    /// Round trips, the shortest first.
    pub round_trips_ns: Vec<i64>,
}

type EchoKey = (u16, IpAddr, IpAddr, u16, u16);

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Echoes {
    list: Vec<EchoRequest>,
    /// Places of requests without a reply yet.
    waiting: HashMap<EchoKey, usize>,
    not_kept: u64,
}

impl Echoes {
    /// Takes the next one of the capture.
    pub fn add(&mut self, echo: Echo) {
        let Echo { input, from, to, identifier, sequence, .. } = echo;
        if echo.is_reply {
            let asked = self.waiting.remove(&(input, to, from, identifier, sequence));
            if let Some(asked) = asked.and_then(|place| self.list.get_mut(place)) {
                asked.reply = Some((echo.time_ns, echo.frame));
            }
            return;
        }
        let key = (input, from, to, identifier, sequence);
        if let Some(asked) = self.waiting.get(&key).and_then(|&place| self.list.get_mut(place)) {
            asked.is_repeated = true;
        } else if self.list.len() < MOST_REQUESTS {
            self.waiting.insert(key, self.list.len());
            self.list.push(EchoRequest { request: echo, reply: None, is_repeated: false });
        } else {
            self.not_kept += 1;
        }
    }

    /// Forgets requests and replies before `before_ns`.
    pub(crate) fn forget(&mut self, before_ns: i64) {
        let is_kept = |one: &EchoRequest| one.request.time_ns >= before_ns;
        let mut next = 0..;
        let places: Vec<_> = self.list.iter().map(|one| is_kept(one).then(|| next.next()).flatten()).collect();
        move_places(&mut self.waiting, &places);
        self.list.retain(is_kept);
    }

    /// Requests by who asks whom and the identifier: when each passed and whether it had a reply, and the round trips.
    pub fn by_flow(&self) -> HashMap<FlowKey, EchoFlow> {
        let mut flows: HashMap<FlowKey, EchoFlow> = HashMap::new();
        for one in &self.list {
            let Echo { from, to, identifier, time_ns, .. } = one.request;
            let flow = flows.entry((from, to, identifier)).or_default();
            flow.requests.push((time_ns, one.reply.is_some()));
            flow.round_trips_ns.extend(one.round_trip_ns());
        }
        flows.values_mut().for_each(|flow| flow.round_trips_ns.sort_unstable());
        flows
    }

    /// Those kept, in the order of the requests.
    pub fn list(&self) -> &[EchoRequest] {
        &self.list
    }

    /// Requests beyond those kept.
    pub fn not_kept(&self) -> u64 {
        self.not_kept
    }

    /// Adds those of inputs that were analysed apart and follow `inputs` others.
    pub fn append(&mut self, next: Self, inputs: u16) {
        let room = MOST_REQUESTS.saturating_sub(self.list.len());
        self.not_kept += next.not_kept + next.list.len().saturating_sub(room) as u64;
        self.list.extend(next.list.into_iter().take(room).map(|mut one| {
            one.request.input = one.request.input.saturating_add(inputs);
            one
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 1, 1));
    const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 18, 2, 1));

    fn request(time_ns: i64, sequence: u16) -> Echo {
        let frame = time_ns as u32;
        Echo { time_ns, frame, input: 0, is_reply: false, from: CLIENT, to: SERVER, identifier: 7, sequence }
    }

    fn reply(time_ns: i64, sequence: u16) -> Echo {
        Echo { is_reply: true, from: SERVER, to: CLIENT, ..request(time_ns, sequence) }
    }

    fn round_trips(messages: &[Echo]) -> Vec<Option<i64>> {
        let mut echoes = Echoes::default();
        messages.iter().for_each(|&message| echoes.add(message));
        echoes.list().iter().map(EchoRequest::round_trip_ns).collect()
    }

    #[test]
    fn each_reply_belongs_to_the_request_with_its_numbers() {
        let messages = [request(10, 1), request(20, 2), reply(90, 2), request(100, 3), reply(110, 1)];
        assert_eq!(round_trips(&messages), [Some(100), Some(70), None]);
    }

    #[test]
    fn a_second_reply_and_one_that_nobody_asked_for_are_no_round_trips() {
        let messages = [reply(5, 1), request(10, 1), reply(20, 1), reply(900, 1), reply(1000, 9)];
        assert_eq!(round_trips(&messages), [Some(10)]);
    }

    #[test]
    fn which_of_two_equal_requests_was_answered_is_open() {
        assert_eq!(round_trips(&[request(10, 1), request(20, 1), reply(30, 1)]), [None]);
        assert_eq!(round_trips(&[request(10, 1), reply(20, 1), request(30, 1), reply(45, 1)]), [Some(10), Some(15)]);
    }

    #[test]
    fn another_program_and_another_host_have_numbers_of_their_own() {
        let other = Echo { identifier: 8, ..request(11, 1) };
        let elsewhere = Echo { to: CLIENT, from: SERVER, ..request(12, 1) };
        assert_eq!(round_trips(&[request(10, 1), other, elsewhere, reply(20, 1)]), [Some(10), None, None]);
    }
}

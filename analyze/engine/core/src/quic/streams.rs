//! Streams of one direction, and what flow control (RFC 9000 section 4) let through.
//!
//! A sender stands at a window when all that its peer allowed was sent: until new data follows new credit. Where data follows
//! more than a round trip and a half behind the credit, or other streams go on, the application had nothing to send.
//!
//! Rule: docs/methods.md, "Flow control of QUIC".

use std::collections::BTreeMap;

use crate::quic::parameters::Parameters;

/// Streams of which a direction knows.
const MAX_STREAMS: usize = 4096;

/// What a host may need beside the path's round trip to answer credit with data.
const HOST_NS: i64 = 10_000_000;

/// One direction of a stream.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamLane {
    /// End of what was sent.
    pub(super) bytes: u64,
    limit: Option<u64>,
    /// What the last credit allowed beyond what was sent by then.
    window_bytes: u64,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) finished: bool,
    pub(super) reset_code: Option<u64>,
}

/// All that was allowed is sent.
#[derive(Debug, Clone, Copy)]
struct Blocked {
    /// None for the connection.
    stream: Option<u64>,
    since_ns: i64,
    window_bytes: u64,
    credit_ns: Option<i64>,
    /// The sender says so itself.
    declared: bool,
}

/// What flow control cost a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowControl {
    /// Time that the sender stood at a window, ns.
    pub limited_ns: i64,
    /// How often.
    pub times: u64,
    /// The window at which it stood longest, bytes.
    pub window_bytes: Option<u64>,
    /// That was a stream's, not the connection's.
    pub of_stream: bool,
    longest_ns: i64,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams {
    pub(super) lanes: BTreeMap<u64, StreamLane>,
    pub(super) not_kept: u64,
    bytes: u64,
    limit: Option<u64>,
    window_bytes: u64,
    blocked: Option<Blocked>,
    pub(super) flow_control: FlowControl,
}

impl Streams {
    /// The peer's parameters: what may be sent at first.
    pub(super) fn allow(&mut self, parameters: &Parameters) {
        if self.limit.is_none() {
            self.window_bytes = parameters.max_data;
        }
        self.limit = self.limit.max(Some(parameters.max_data));
    }

    fn lane(&mut self, id: u64, time_ns: i64) -> Option<&mut StreamLane> {
        if self.lanes.len() >= MAX_STREAMS && !self.lanes.contains_key(&id) {
            self.not_kept += 1;
            return None;
        }
        Some(self.lanes.entry(id).or_insert(StreamLane {
            first_ns: time_ns,
            last_ns: time_ns,
            ..StreamLane::default()
        }))
    }

    /// Data of a stream up to `end`. `first_limit` is what its peer allowed at first, if that is known.
    pub(super) fn data(
        &mut self,
        id: u64,
        end: u64,
        finishes: bool,
        first_limit: Option<u64>,
        time_ns: i64,
        rtt_ns: i64,
    ) {
        let Some(lane) = self.lane(id, time_ns) else { return };
        if lane.limit.is_none() {
            (lane.limit, lane.window_bytes) = (first_limit, first_limit.unwrap_or(0));
        }
        lane.finished |= finishes;
        lane.last_ns = time_ns;
        let fresh = end.saturating_sub(lane.bytes);
        if fresh == 0 {
            return;
        }
        lane.bytes = end;
        let (at_limit, window_bytes) =
            (lane.limit.is_some_and(|limit| end >= limit) && !lane.finished, lane.window_bytes);
        self.bytes = self.bytes.saturating_add(fresh);
        self.resume(id, time_ns, rtt_ns);
        let connection_at_limit = self.limit.is_some_and(|limit| self.bytes >= limit);
        let blocked = |stream, window_bytes| Blocked {
            stream,
            since_ns: time_ns,
            window_bytes,
            credit_ns: None,
            declared: false,
        };
        if connection_at_limit {
            self.blocked = Some(blocked(None, self.window_bytes));
        } else if at_limit {
            self.blocked = Some(blocked(Some(id), window_bytes));
        }
    }

    fn resume(&mut self, id: u64, time_ns: i64, rtt_ns: i64) {
        let Some(blocked) = self.blocked.take() else { return };
        let answers = blocked.credit_ns.is_some_and(|credit_ns| {
            blocked.declared || time_ns.saturating_sub(credit_ns) <= rtt_ns.saturating_add(rtt_ns / 2) + HOST_NS
        });
        if !answers || blocked.stream.is_some_and(|stream| stream != id) {
            return;
        }
        let limited_ns = time_ns.saturating_sub(blocked.since_ns);
        let control = &mut self.flow_control;
        control.limited_ns = control.limited_ns.saturating_add(limited_ns);
        control.times += 1;
        if control.window_bytes.is_none() || limited_ns > control.longest_ns {
            control.longest_ns = limited_ns;
            control.window_bytes = Some(blocked.window_bytes);
            control.of_stream = blocked.stream.is_some();
        }
    }

    /// The peer allows more on the connection (none) or on a stream.
    pub(super) fn credit(&mut self, stream: Option<u64>, limit: u64, time_ns: i64) {
        let bytes = self.bytes;
        let (known, window_bytes, sent) = match stream {
            None => (&mut self.limit, &mut self.window_bytes, bytes),
            Some(id) => match self.lane(id, time_ns) {
                Some(lane) => (&mut lane.limit, &mut lane.window_bytes, lane.bytes),
                None => return,
            },
        };
        if known.is_some_and(|known| limit <= known) {
            return;
        }
        *known = Some(limit);
        *window_bytes = limit.saturating_sub(sent);
        if let Some(blocked) = self.blocked.as_mut().filter(|blocked| blocked.stream == stream) {
            blocked.credit_ns.get_or_insert(time_ns);
        }
    }

    /// The sender says that it has more than it may send.
    pub(super) fn declared(&mut self, stream: Option<u64>) {
        if let Some(blocked) = self.blocked.as_mut().filter(|blocked| blocked.stream == stream) {
            blocked.declared = true;
        }
    }

    /// The sender gave a stream up.
    pub(super) fn reset(&mut self, id: u64, code: u64, time_ns: i64) {
        if let Some(lane) = self.lane(id, time_ns) {
            lane.reset_code.get_or_insert(code);
            lane.last_ns = time_ns;
        }
    }
}

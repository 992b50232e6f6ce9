//! Windows that one side's data has to fit into (RFC 9113 section 5.2), and the time that it stood at them.
//!
//! A frame of data that follows credit and would not have fitted before was held back by the window: from the end of the data
//! before it. Where it comes later after the credit than twice the shortest such time, the application had nothing to send.
//!
//! Rule: docs/methods.md, "HTTP/2 windows".

use std::collections::BTreeMap;

/// What a window is before anybody said otherwise (RFC 9113 section 6.9.2).
pub(super) const DEFAULT_WINDOW_BYTES: i64 = 65_535;

/// Streams whose windows are known at a time.
const MAX_STREAMS: usize = 4096;

/// Stalls that are kept.
const MAX_STALLS: usize = 1024;

/// What a host may need to answer credit with data, beside twice the shortest time.
const HOST_NS: i64 = 10_000_000;

#[derive(Debug, Clone, Copy)]
struct StreamWindow {
    remaining: i64,
    /// Of it, what came since the last data that it held.
    credited: i64,
}

impl StreamWindow {
    fn spend(&mut self, bytes: i64) {
        self.remaining = self.remaining.saturating_sub(bytes);
        self.credited = 0;
    }

    fn add(&mut self, bytes: i64) {
        self.remaining = self.remaining.saturating_add(bytes);
        self.credited = self.credited.saturating_add(bytes);
    }

    /// Data of this length was held back by it until the credit came.
    fn held(&self, bytes: i64) -> bool {
        self.credited > 0 && bytes > self.remaining.saturating_sub(self.credited)
    }
}

/// A time that a sender stood at a window, Unix nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When the last data before it had passed.
    pub from_ns: i64,
    /// When the next one began.
    pub to_ns: i64,
}

/// What windows cost one side's data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowUse {
    /// Bytes of data.
    pub data_bytes: u64,
    /// Window of a new stream that the peer announced.
    pub initial_window_bytes: Option<u32>,
    /// Time that it stood at a window, ns.
    pub limited_ns: i64,
    /// How often.
    pub times: u64,
    /// Of these, at that of the whole connection.
    pub times_of_connection: u64,
    /// The first ones.
    pub stalls: Vec<Stall>,
}

/// See the module.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    connection: StreamWindow,
    streams: BTreeMap<u32, StreamWindow>,
    initial: i64,
    last_data_ns: Option<i64>,
    credit_ns: Option<i64>,
    shortest_reply_ns: Option<i64>,
    pub(super) used: WindowUse,
}

impl Windows {
    pub(super) fn new() -> Self {
        Self {
            connection: StreamWindow { remaining: DEFAULT_WINDOW_BYTES, credited: 0 },
            streams: BTreeMap::new(),
            initial: DEFAULT_WINDOW_BYTES,
            last_data_ns: None,
            credit_ns: None,
            shortest_reply_ns: None,
            used: WindowUse::default(),
        }
    }

    fn stream(&mut self, id: u32) -> &mut StreamWindow {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&id) {
            // The oldest is the likeliest to be over.
            self.streams.pop_first();
        }
        self.streams.entry(id).or_insert(StreamWindow { remaining: self.initial, credited: 0 })
    }

    /// A frame of data, padding and all.
    pub(super) fn data(&mut self, stream: u32, bytes: u32, ends: bool, [start_ns, end_ns]: [i64; 2]) {
        let length = i64::from(bytes);
        let window = self.stream(stream);
        let by_stream = window.held(length);
        window.spend(length);
        let by_connection = self.connection.held(length);
        self.connection.spend(length);
        if ends {
            self.streams.remove(&stream);
        }
        self.used.data_bytes += u64::from(bytes);
        let credit_ns = self.credit_ns.take();
        if (by_stream || by_connection)
            && let Some(from_ns) = self.last_data_ns
            && let Some(credit_ns) = credit_ns
        {
            self.stall(Stall { from_ns, to_ns: start_ns }, credit_ns, by_connection && !by_stream);
        }
        self.last_data_ns = Some(end_ns);
    }

    fn stall(&mut self, stall: Stall, credit_ns: i64, of_connection: bool) {
        let reply_ns = stall.to_ns.saturating_sub(credit_ns).max(0);
        let shortest_ns = self.shortest_reply_ns.map_or(reply_ns, |shortest| shortest.min(reply_ns));
        self.shortest_reply_ns = Some(shortest_ns);
        if stall.to_ns <= stall.from_ns || reply_ns > shortest_ns.saturating_mul(2).saturating_add(HOST_NS) {
            return;
        }
        let stall_ns = stall.to_ns.saturating_sub(stall.from_ns);
        self.used.limited_ns = self.used.limited_ns.saturating_add(stall_ns);
        self.used.times += 1;
        self.used.times_of_connection += u64::from(of_connection);
        if self.used.stalls.len() < MAX_STALLS {
            self.used.stalls.push(stall);
        }
    }

    /// The peer's WINDOW_UPDATE; stream 0 is the connection.
    pub(super) fn credit(&mut self, stream: u32, bytes: u32, time_ns: i64) {
        let bytes = i64::from(bytes & 0x7fff_ffff);
        match stream {
            0 => self.connection.add(bytes),
            _ => self.stream(stream).add(bytes),
        }
        self.credit_ns = Some(time_ns);
    }

    /// The peer's SETTINGS_INITIAL_WINDOW_SIZE, which concerns open streams, too (RFC 9113 section 6.9.2).
    pub(super) fn initial(&mut self, bytes: u32, time_ns: i64) {
        let more = i64::from(bytes) - self.initial;
        self.initial = i64::from(bytes);
        self.used.initial_window_bytes = Some(bytes);
        for window in self.streams.values_mut() {
            if more > 0 { window.add(more) } else { window.remaining += more }
        }
        self.credit_ns = Some(time_ns).filter(|_| more > 0).or(self.credit_ns);
    }

    pub(super) fn ended(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }
}

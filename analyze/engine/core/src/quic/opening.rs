//! How a connection opens, as far as headers and sizes show it: Initials, Retry, the handshake's time and round trips, and what
//! the limit on amplification cost (RFC 9000 section 8.1).
//!
//! Rule: docs/methods.md, "QUIC without keys".

/// A packet of the handshake that holds more than an acknowledgement, bytes.
const FEWEST_FLIGHT_BYTES: usize = 200;

/// What a server may send for each byte of a client whose address it does not know.
const AMPLIFICATION: u64 = 3;

/// Initials sent so much later than the first were retransmitted: which of them was answered, nobody knows.
const RETRANSMITTED_NS: i64 = 10_000_000;

/// What a datagram holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Contents {
    pub(super) initials: u64,
    /// An Initial with a token.
    pub(super) token: bool,
    pub(super) retry: bool,
    pub(super) negotiation: bool,
    /// Bytes of the longest Handshake packet; none if there is none.
    pub(super) handshake_bytes: Option<usize>,
    pub(super) one_rtt: bool,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Opening {
    /// Initials of the client and of the server.
    pub(super) initials: [u64; 2],
    pub(super) first_ns: Option<i64>,
    pub(super) last_initial_ns: Option<i64>,
    /// The Initials that the server's first reply answers: the first and the last of them.
    asked_ns: Option<(i64, i64)>,
    reply_ns: Option<i64>,
    /// The client's next datagram.
    next_ns: Option<i64>,
    pub(super) retries: u64,
    pub(super) negotiations: u64,
    pub(super) handshake_ns: Option<i64>,
    /// Bytes of the client and of the server so far.
    bytes: [u64; 2],
    address_known: bool,
    client_is_through: bool,
    /// The server's last datagram, and what the client had sent by then.
    server_last: Option<(i64, u64)>,
    pub(super) amplification_wait_ns: i64,
}

impl Opening {
    /// A datagram of the client (0) or of the server (1).
    pub(super) fn datagram(&mut self, from: usize, bytes: u64, time_ns: i64, contents: &Contents) {
        if let Some(initials) = self.initials.get_mut(from) {
            *initials += contents.initials;
        }
        if from == 0 {
            self.of_client(time_ns, contents)
        } else {
            self.of_server(bytes, time_ns, contents)
        }
        if let Some(sum) = self.bytes.get_mut(from) {
            *sum = sum.saturating_add(bytes);
        }
    }

    fn of_client(&mut self, time_ns: i64, contents: &Contents) {
        if contents.initials > 0 {
            self.first_ns.get_or_insert(time_ns);
            self.last_initial_ns = Some(time_ns);
            if self.reply_ns.is_none() {
                self.asked_ns = Some((self.asked_ns.map_or(time_ns, |(first_ns, _)| first_ns), time_ns));
            }
        }
        if self.reply_ns.is_some() {
            self.next_ns.get_or_insert(time_ns);
        }
        self.address_known |= contents.token || contents.handshake_bytes.is_some();
        if contents.one_rtt && !self.client_is_through {
            self.client_is_through = true;
            self.handshake_ns = self.first_ns.map(|first_ns| time_ns.saturating_sub(first_ns));
        }
    }

    fn of_server(&mut self, bytes: u64, time_ns: i64, contents: &Contents) {
        self.retries += u64::from(contents.retry);
        self.negotiations += u64::from(contents.negotiation);
        if contents.retry || contents.negotiation {
            // The client begins anew: the next Initial is the question.
            (self.asked_ns, self.reply_ns, self.next_ns) = (None, None, None);
            self.bytes = [0; 2];
            return;
        }
        if self.asked_ns.is_some() {
            self.reply_ns.get_or_insert(time_ns);
        }
        let [client_bytes, server_bytes] = self.bytes;
        let flight_goes_on = contents.handshake_bytes.is_some_and(|bytes| bytes >= FEWEST_FLIGHT_BYTES);
        if let Some((last_ns, client_bytes_then)) = self.server_last
            && flight_goes_on
            && !self.client_is_through
            && server_bytes.saturating_add(bytes) > client_bytes_then.saturating_mul(AMPLIFICATION)
        {
            let wait_ns = time_ns.saturating_sub(last_ns);
            self.amplification_wait_ns = self.amplification_wait_ns.saturating_add(wait_ns);
        }
        self.server_last = (!self.address_known).then_some((time_ns, client_bytes));
    }

    /// From the client's Initial to the server's reply, and from there to the client's next datagram, ns: the round trip as far as
    /// each lies behind the capture point.
    pub(super) fn round_trip_halves_ns(&self) -> [Option<i64>; 2] {
        let (Some((first_ns, asked_ns)), Some(reply_ns)) = (self.asked_ns, self.reply_ns) else { return [None; 2] };
        let once = asked_ns.saturating_sub(first_ns) < RETRANSMITTED_NS;
        let next_ns = self.next_ns.map(|next_ns| next_ns.saturating_sub(reply_ns));
        [once.then(|| reply_ns.saturating_sub(asked_ns)), next_ns]
    }

    /// Both halves together.
    pub(super) fn round_trip_ns(&self) -> Option<i64> {
        let [server_ns, client_ns] = self.round_trip_halves_ns();
        server_ns.zip(client_ns).map(|(server_ns, client_ns)| server_ns.saturating_add(client_ns))
    }

    /// Round trips that the handshake needed, if it came to its end: one, and one more for each reason.
    pub(super) fn round_trips(&self, hello_retry: bool) -> Option<u64> {
        self.handshake_ns?;
        let waited = u64::from(self.amplification_wait_ns > 0);
        Some(1 + self.retries.min(1) + self.negotiations.min(1) + u64::from(hello_retry) + waited)
    }

    /// The limit on amplification can be judged: the client's first Initial was captured, and replies.
    pub(super) fn is_seen(&self) -> bool {
        self.first_ns.is_some() && self.reply_ns.is_some()
    }
}

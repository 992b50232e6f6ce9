//! Round trips where acknowledgements give no clean sample: while data is missing and repaired (docs/methods.md, section 4).
//!
//! A receiver reports by SACK at once what it gets behind a hole (RFC 2018 section 4): the report answers the segment that was
//! sent last of all it brings news of (RFC 8985 section 6.2), if that was sent once. And a repeat is sampled if its timestamp
//! tells it from what was sent before: an acknowledgement echoes the segment that filled the hole (RFC 7323 section 4.3).
//! Both are kept apart from the clean samples in [`crate::tcp::rtt::samples`], which `rtt` of the JSON is about.
//!
//! Rule: docs/methods.md, "Round trips in recovery".

use crate::packet::{Packet, option_bits};
use crate::tcp::events::segment::{Acknowledged, Sampled, state};
use crate::tcp::rtt::samples::{Answered, RoundTrips};

impl RoundTrips {
    /// A selective acknowledgement that acknowledges nothing cumulatively brought news of `sampled`, sent once, and of
    /// nothing sent later than `latest_time_ns`.
    pub fn reported(&mut self, packet: &Packet, sampled: Sampled, latest_time_ns: i64) {
        if latest_time_ns <= sampled.time_ns {
            self.recovery.get_or_insert_default().add(packet, sampled, Answered::BySack);
        }
    }

    /// An acknowledgement covers data whose first segment had been retransmitted.
    pub fn repaired(&mut self, packet: &Packet, acknowledged: &Acknowledged) {
        let Some(repeat) = acknowledged.first_retransmitted else { return };
        if packet.options & option_bits::TIMESTAMPS != 0
            && packet.tsecr == repeat.tsval
            && repeat.state & state::SAME_STAMP == 0
            && acknowledged.covered.latest_time_ns <= repeat.time_ns
        {
            self.recovery.get_or_insert_default().add(packet, Sampled::of(&repeat), Answered::ByTimestamp);
        }
    }
}

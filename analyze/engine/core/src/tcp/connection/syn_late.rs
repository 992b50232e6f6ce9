//! A SYN that was recorded late, behind its true time but before the SYN-ACK: the handshake's round trip is then too short.
//!
//! How it works: the client's timestamps are a clock of its own. By that clock more time lies between the SYN and the client's next packets
//! than by the capture's, and data takes as long as the client's clock says. A SYN that the network delayed differs from it in the latter.
//!
//! Rule: docs/methods.md, "SYN recorded late".

use crate::tcp::connection::groups::Terms;
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::direction::direction::Direction;

/// Both TSvals are cut to whole ticks.
const TICKS: f64 = 2.0;

/// Of what the SYN comes late, data must take so much longer than the SYN-ACK.
const SHOWN_BY_DATA: f64 = 0.5;

/// Forgets what the SYN of a connection that is over says of round trips, if it was recorded late.
pub(crate) fn forget_late_syn(terms: &mut Terms, client: &Direction) {
    if let Some(data_ns) = data_shows_late_syn(&terms.handshake, client) {
        terms.handshake.server_loop_ns = None;
        terms.loops.handshake_rtt_ns = None;
        terms.loops.loops_ns[1] = terms.loops.loops_ns[1].map(|loop_ns| loop_ns.max(data_ns));
    }
}

/// The shortest round trip of the client's data, if the SYN was recorded late.
fn data_shows_late_syn(handshake: &Handshake, client: &Direction) -> Option<i64> {
    let loop_ns = handshake.server_loop_ns?;
    let live = client.live.as_deref()?;
    let data_ns = i64::try_from(live.round_trips.moments.min()?).ok().filter(|data_ns| *data_ns > loop_ns)?;
    let (syn_ns, syn_tsval) = handshake.syn.only()?;
    let clock = &live.capture.clock;
    let (first_ns, first_tsval) = clock.first()?;
    let late_ns = clock.between_ns(syn_tsval, first_tsval)?.saturating_sub(first_ns.saturating_sub(syn_ns)) as f64;
    let tick_ns = clock.between_ns(0, 1)? as f64;
    let is_late = late_ns > TICKS * tick_ns;
    (is_late && (data_ns - loop_ns) as f64 >= SHOWN_BY_DATA * late_ns).then_some(data_ns)
}

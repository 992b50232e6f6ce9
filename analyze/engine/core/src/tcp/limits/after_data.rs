//! The end of a connection as the sender of its data saw it, and packets that come when it is over.

use crate::tcp::direction::direction::Direction;
use crate::tcp::events::factor::Factor;
use crate::tcp::limits::runs::{FactorRun, Runs};
use crate::tcp::limits::share::Share;
use crate::tcp::limits::summary::LimitsSummary;

/// The end of a connection as a direction's sender saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderEnding {
    /// Since when nothing was in flight; none if something is not acknowledged, or the window is closed.
    pub(crate) idle_since_ns: Option<i64>,
    /// All is acknowledged, and away from the sender, which has not heard of it yet.
    pub(crate) is_unheard: bool,
    /// The window is closed, and nothing is in flight.
    pub(crate) is_closed: bool,
    /// What was retransmitted waits for its acknowledgement.
    pub(crate) is_repairing: bool,
    /// The last packet of the connection.
    pub(crate) end_ns: i64,
    /// Frame of the last data.
    pub(crate) frame: u32,
    /// Frame of the last packet of the connection.
    pub(crate) end_frame: u32,
    /// Bytes delivered in all.
    pub(crate) delivered_bytes: u64,
}

impl SenderEnding {
    /// `direction` sends the data; `end` is time and frame of the connection's last packet.
    pub(crate) fn of(direction: &Direction, frame: u32, (end_ns, end_frame): (i64, u32)) -> Option<Self> {
        let live = direction.live.as_deref()?;
        let all_acknowledged = direction.una >= direction.max;
        let since_ns = live.view.idle_since_ns().filter(|_| all_acknowledged);
        Some(Self {
            idle_since_ns: since_ns.map(|since_ns| since_ns.max(direction.last_data_ns).min(end_ns)),
            is_unheard: all_acknowledged && live.view.has_unheard(),
            is_closed: live.view.is_limited_now() && live.view.flight_bytes() == 0,
            is_repairing: live.loss.recovery.is_some_and(|recovery| direction.una < recovery.point),
            end_ns: end_ns.max(direction.last_data_ns),
            frame,
            end_frame,
            delivered_bytes: direction.acknowledged_bytes(),
        })
    }
}

/// Counts the time to a packet that came when the connection was over: nothing was to be sent in it.
pub(crate) fn take_straggler(summary: &mut LimitsSummary, end_ns: i64, frame: u32) {
    let Some(&FactorRun { end_ns: start_ns, .. }) = summary.runs.last() else { return };
    let idle = Factor::Idle;
    let run = FactorRun { start_ns, end_ns, factor: idle, bytes: 0, frames: [frame; 2] };
    let share = Share { time_ns: run.duration_ns(), bytes: 0 };
    if share.time_ns == 0 {
        return;
    }
    summary.shares[idle].add(share);
    summary.underlying[idle].add(share);
    summary.after_data_ns = summary.after_data_ns.saturating_add(share.time_ns);
    let mut runs = Runs::from(std::mem::take(&mut summary.runs));
    runs.push(run);
    summary.runs = runs.into_list();
}

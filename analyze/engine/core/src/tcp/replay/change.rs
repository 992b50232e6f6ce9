//! The one thing that a replay changes.

use crate::tcp::events::holder::Holder;
use crate::tcp::replay::control::INITIAL_SEGMENTS;
use crate::tcp::replay::model::Setting;
use crate::tcp::replay::timeline::{Event, What};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// No segment is lost, or marked.
    NoLoss,
    /// The receiver's window is twice as large.
    TwiceWindow,
    /// The receiver's window grows with what arrives.
    WindowThatGrows,
    /// The receiver takes what it has got at once.
    ReadsAtOnce,
    /// The receiving application lets twice as much be outstanding.
    TwiceApplicationWindow,
    /// The send buffer is twice as large.
    TwiceBuffer,
    /// The path's narrowest place lets twice as much pass.
    TwiceBandwidth,
    /// No token bucket.
    NoBucket,
    /// No host stalls.
    NoStalls,
    /// The application always has data.
    BusyApplication,
    /// The server's application responds at once.
    NoServerWait,
    /// The client's application sends its next request at once.
    NoClientWait,
    /// All losses of a flight are repaired in one round trip.
    RepairedAtOnce,
    /// The connection is open already, and its window is that of a new one.
    OpenAlready,
    /// It is open already, and its window has grown.
    Warm,
    /// It is opened anew, but its window does not have to grow.
    WindowAtOnce,
}

impl Change {
    /// What becomes of something that happened; none if it does not happen then.
    pub(crate) fn event(self, event: Event, policed: bool) -> Option<Event> {
        let what = match event.what {
            What::Pace(holder @ Holder::PeerApplication, until_bytes, bytes_s)
                if self == Self::TwiceApplicationWindow =>
            {
                What::Pace(holder, until_bytes, 2.0 * bytes_s)
            }
            what => what,
        };
        self.keeps(&event, policed).then_some(Event { what, ..event })
    }

    fn keeps(self, event: &Event, policed: bool) -> bool {
        match event.what {
            What::Loss(_) | What::Timeout(_) => !self.removes_losses(policed),
            What::Pause(holder, _) | What::Pace(holder, ..) => !self.removes(holder, event.at_bytes, policed),
        }
    }

    fn removes_losses(self, policed: bool) -> bool {
        self == Self::NoLoss || self == Self::NoBucket && policed
    }

    fn removes(self, holder: Holder, at_bytes: f64, policed: bool) -> bool {
        match holder {
            Holder::Opening => matches!(self, Self::OpenAlready | Self::Warm),
            Holder::Turn => self == Self::BusyApplication && at_bytes > 0.0,
            Holder::Application | Holder::PeerApplication => self == Self::BusyApplication,
            Holder::ServerWait => matches!(self, Self::BusyApplication | Self::NoServerWait),
            Holder::ClientWait => matches!(self, Self::BusyApplication | Self::NoClientWait),
            Holder::Reader => self == Self::ReadsAtOnce,
            Holder::Stall => self == Self::NoStalls,
            Holder::Timeout | Holder::Outage => self.removes_losses(policed),
            Holder::Bucket => self == Self::NoBucket,
            Holder::Repairs => self == Self::RepairedAtOnce || self.removes_losses(policed),
            _ => false,
        }
    }

    /// Changes what a transfer is replayed with.
    pub(crate) fn apply(self, setting: &mut Setting) {
        let path = &mut setting.path;
        match self {
            Self::TwiceWindow => path.window_bytes = path.window_bytes.map(|bytes| 2.0 * bytes),
            Self::WindowThatGrows => (path.window_bytes, setting.window_adapts) = (None, true),
            Self::TwiceBuffer => path.buffer_bytes = path.buffer_bytes.map(|bytes| 2.0 * bytes),
            Self::TwiceBandwidth => {
                setting.rate_bytes_s *= 2.0;
                // The queue holds as many bytes as before.
                path.queue_s /= 2.0;
            }
            Self::Warm | Self::WindowAtOnce => {
                let full_bytes = setting.rate_bytes_s * (path.round_trip_s + path.queue_s / 2.0);
                setting.warm_segments = Some((full_bytes / setting.segment_bytes).max(INITIAL_SEGMENTS));
            }
            _ => {}
        }
    }

    /// The next limit of the same kind, which the transfer never came near, may cap what it gives.
    pub(crate) fn meets_unseen_limits(self) -> bool {
        matches!(self, Self::TwiceBandwidth | Self::NoBucket | Self::WindowThatGrows)
    }

    /// It makes the transfer faster than any that was seen: what the path carries decides.
    pub(crate) fn needs_the_path(self) -> bool {
        !matches!(
            self,
            Self::NoStalls | Self::ReadsAtOnce | Self::OpenAlready | Self::NoServerWait | Self::NoClientWait
        )
    }

    /// It makes a window twice as large: where nothing shows the path, that bounds what it gives.
    pub(crate) fn doubles_a_window(self) -> bool {
        matches!(self, Self::TwiceWindow | Self::TwiceApplicationWindow | Self::TwiceBuffer)
    }

    /// What the model gets wrong of the transfer as it was, it gets wrong of this, too.
    pub(crate) fn keeps_errors(self) -> bool {
        !matches!(self, Self::NoLoss | Self::RepairedAtOnce | Self::Warm | Self::WindowAtOnce | Self::NoBucket)
    }
}

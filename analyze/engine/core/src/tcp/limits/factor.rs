//! What can limit a transfer at a moment (docs/verdict.md, "What limits").

use crate::tcp::gaps::causes::Cause;

/// The limiting factor of an interval. The order is that in which `limits` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Factor {
    /// Opening: SYN to the end of the TCP handshake, or of the TLS handshake.
    Setup,
    /// A host did not run: sender's or receiver's.
    HostStall,
    /// Waiting for a retransmission timeout or a tail loss probe.
    TimeoutWait,
    /// Repairing losses.
    LossRecovery,
    /// The advertised window left no room.
    ReceiverWindow,
    /// The sending application gave nothing to send.
    Application,
    /// The congestion window was still growing exponentially.
    SlowStart,
    /// A token bucket had run empty.
    TokenBucket,
    /// The path carried no more.
    BottleneckBandwidth,
    /// The sender kept no more in flight though window and path allowed it.
    SendBuffer,
    /// The congestion window, growing slowly or after a reduction.
    CongestionWindow,
    /// Nothing to do: the other side was speaking.
    Idle,
    /// Cannot be told.
    Unknown,
}

impl Factor {
    /// Number of factors.
    pub const COUNT: usize = 13;

    /// All, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Setup,
        Self::HostStall,
        Self::TimeoutWait,
        Self::LossRecovery,
        Self::ReceiverWindow,
        Self::Application,
        Self::SlowStart,
        Self::TokenBucket,
        Self::BottleneckBandwidth,
        Self::SendBuffer,
        Self::CongestionWindow,
        Self::Idle,
        Self::Unknown,
    ];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::HostStall => "host_stall",
            Self::TimeoutWait => "timeout_wait",
            Self::LossRecovery => "loss_recovery",
            Self::ReceiverWindow => "receiver_window",
            Self::Application => "application",
            Self::SlowStart => "slow_start",
            Self::TokenBucket => "token_bucket",
            Self::BottleneckBandwidth => "bottleneck_bandwidth",
            Self::SendBuffer => "send_buffer",
            Self::CongestionWindow => "congestion_window",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }

    /// Intervals of this factor show what the path and the congestion control allow: their rates make the reference rate.
    pub fn shows_capacity(self) -> bool {
        matches!(
            self,
            Self::SlowStart | Self::TokenBucket | Self::BottleneckBandwidth | Self::SendBuffer | Self::CongestionWindow
        )
    }
}

/// The factor of a gap's time; none where the rounds tell it better.
pub(in crate::tcp) fn factor_of(cause: Cause, ended_by_timer: bool, limited: bool) -> Option<Factor> {
    match cause {
        Cause::LocalHostStall | Cause::RemoteHostStall => Some(Factor::HostStall),
        Cause::ReceiverWindow => None,
        _ if ended_by_timer => Some(Factor::TimeoutWait),
        Cause::Timeout | Cause::TailProbe => Some(Factor::TimeoutWait),
        Cause::PathHold | Cause::HostOrPath | Cause::CaptureArtifact if !limited => Some(Factor::Unknown),
        _ => None,
    }
}

//! Why no data passed (the words of the JSON contract): the list of causes, each with its name and with what it blames.
//!
//! A cause is one line here; its condition is a rule of [`crate::tcp::gaps::causes`]. Enumeration, keys in results and the
//! factor of its time come from this list.

use crate::tcp::events::factor::Factor;

/// Hands the list to a macro, one line for each cause: variant, name in results, factor, and what it says.
macro_rules! with_causes {
    ($make:ident) => {
        $make! {
            LocalHostStall => local_host_stall, Blames::Stall,
                "The host at which the capture was made stalled.";
            RemoteHostStall => remote_host_stall, Blames::Stall, "The other host stalled.";
            PathHold => path_hold, Blames::TimerOrNobody,
                "Packets were held or lost on the way while both hosts ran.";
            HostOrPath => host_or_path, Blames::TimerOrNobody,
                "One of the three above; this capture cannot say which.";
            SenderApplication => sender_application, Blames::TimerOrRounds, "The sender had nothing to send.";
            ReceiverWindow => receiver_window, Blames::Rounds, "The receiver's window left no room.";
            Timeout => timeout, Blames::Timer, "Ended by a retransmission timeout.";
            TailProbe => tail_probe, Blames::Timer, "Ended by a tail loss probe.";
            AckClock => ack_clock, Blames::TimerOrRounds,
                "The sender waited for ACKs, which came on time.";
            PacingOrShaping => pacing_or_shaping, Blames::TimerOrRounds, "This time between packets is usual.";
            CaptureArtifact => capture_artifact, Blames::TimerOrNobody,
                "The capture's clock was set, or the capture missed packets.";
            Unknown => unknown, Blames::TimerOrRounds, "Nothing known explains it.";
        }
    };
}

pub(crate) use with_causes;

macro_rules! enumerate {
    ($($variant:ident => $name:ident, $blames:expr, $says:literal;)+) => {
        /// Why no data passed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Cause {
            $(#[doc = $says] $variant,)+
        }

        impl Cause {
            /// All causes, by number.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// Its name in results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($name),)+
                }
            }

            fn blames(self) -> Blames {
                match self {
                    $(Self::$variant => $blames,)+
                }
            }
        }
    };
}

with_causes!(enumerate);

/// What the time of a pause counts for.
#[derive(Debug, Clone, Copy)]
enum Blames {
    /// A host that stalled.
    Stall,
    /// The timer that ended the pause.
    Timer,
    /// A timer that ended the pause; without, nobody, if no window was full.
    TimerOrNobody,
    /// A timer that ended the pause; without, what its rounds say.
    TimerOrRounds,
    /// What its rounds say.
    Rounds,
}

/// What a timer ends was a wait for it.
const TIMER: Option<Factor> = Some(Factor::TimeoutWait);

impl Default for Cause {
    fn default() -> Self {
        Self::Unknown
    }
}

impl Cause {
    /// One of the hosts stalled.
    pub fn is_host_stall(self) -> bool {
        matches!(self, Self::LocalHostStall | Self::RemoteHostStall)
    }

    /// The factor of a pause's time, which a timer ended or not, with a full window or not; none where the rounds show it better.
    pub(crate) fn factor(self, ended_by_timer: bool, limited: bool) -> Option<Factor> {
        match self.blames() {
            Blames::Stall => Some(Factor::HostStall),
            Blames::Timer => TIMER,
            Blames::TimerOrNobody | Blames::TimerOrRounds if ended_by_timer => TIMER,
            Blames::TimerOrNobody => Some(Factor::Unknown).filter(|_| !limited),
            Blames::TimerOrRounds | Blames::Rounds => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_ends_a_pause_is_blamed_unless_a_host_or_a_window_is() {
        let factors = |cause: Cause| {
            [(false, false), (true, false), (false, true)].map(|(timer, full)| cause.factor(timer, full))
        };
        assert_eq!(factors(Cause::RemoteHostStall), [Some(Factor::HostStall); 3]);
        assert_eq!(factors(Cause::ReceiverWindow), [None; 3]);
        assert_eq!(factors(Cause::PathHold), [Some(Factor::Unknown), Some(Factor::TimeoutWait), None]);
        assert_eq!(factors(Cause::AckClock), [None, Some(Factor::TimeoutWait), None]);
    }
}

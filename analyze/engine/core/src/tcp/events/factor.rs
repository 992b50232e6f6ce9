//! What can limit a transfer at a moment (docs/verdict.md, "What limits"): the list of the limiting factors.
//!
//! A factor is one line here and one file of its name in `verdict/factors/`, which declares condition, words, remedy and
//! bounds of confidence. Enumeration, array of rules, names in results and in Python all come from this list.

/// Hands the list to a macro, one line for each factor, in the order in which `limits` lists them: variant, name (in results
/// and of its file), whether its intervals show what path and congestion control allow, and what it says.
macro_rules! with_factors {
    ($make:ident) => {
        $make! {
            Setup => setup, false, "Opening: SYN to the end of the TCP handshake, or of the TLS handshake.";
            HostStall => host_stall, false, "A host did not run: sender's or receiver's.";
            TimeoutWait => timeout_wait, false, "Waiting for a retransmission timeout or a tail loss probe.";
            LossRecovery => loss_recovery, false, "Repairing losses.";
            ReceiverWindow => receiver_window, false, "The advertised window left no room.";
            ApplicationWindow => application_window, false, "The sender waited for a message from its peer, with the same amount outstanding.";
            Application => application, false, "The sending application supplied no data.";
            SlowStart => slow_start, true, "The congestion window was still growing exponentially.";
            TokenBucket => token_bucket, true, "A token bucket had run empty.";
            BottleneckBandwidth => bottleneck_bandwidth, true, "The path carried no more.";
            SendBuffer => send_buffer, true, "The sender kept no more in flight though window and path allowed it.";
            CongestionWindow => congestion_window, true, "The congestion window, growing slowly or after a reduction.";
            Idle => idle, false, "Nothing to do: the other side was sending.";
            Unknown => unknown, false, "The capture does not show it.";
            #[cfg(test)]
            MadeUp => made_up, false, "What the tests add, to see that a factor is one file and one line.";
        }
    };
}

pub(crate) use with_factors;

macro_rules! enumerate {
    ($($(#[$only:meta])* $variant:ident => $name:ident, $shows_capacity:literal, $says:literal;)+) => {
        /// The limiting factor of an interval. The order is that in which `limits` lists them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Factor {
            $(#[doc = $says] $(#[$only])* $variant,)+
        }

        impl Factor {
            /// All, in the order of their numbers.
            pub const ALL: [Self; Self::COUNT] = [$($(#[$only])* Self::$variant),+];

            /// Number of factors.
            pub const COUNT: usize = [$($(#[$only])* Self::$variant),+].len();

            /// The name in results.
            pub fn name(self) -> &'static str {
                match self {
                    $($(#[$only])* Self::$variant => stringify!($name),)+
                }
            }

            /// Intervals of this factor show what the path and the congestion control allow: their rates make the reference rate.
            pub fn shows_capacity(self) -> bool {
                match self {
                    $($(#[$only])* Self::$variant => $shows_capacity,)+
                }
            }
        }
    };
}

with_factors!(enumerate);

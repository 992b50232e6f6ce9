//! What can limit a transfer at a moment (docs/verdict.md, "What limits"): the list of the limiting factors.
//!
//! A factor is one line here and one file of its name in `verdict/factors/`, which declares condition, words, remedy and
//! bounds of confidence. Enumeration, array of rules, names in results and in Python all come from this list.

/// Hands the list to a macro, one line for each factor, in the order in which `limits` lists them: variant, name (in results
/// and of its file), whether its intervals show what path and congestion control allow, whose time it is, and what it says.
macro_rules! with_factors {
    ($make:ident) => {
        $make! {
            Setup => setup, false, Whose::Path, "Opening: SYN to the end of the TCP handshake, or of the TLS handshake.";
            HostStall => host_stall, false, Whose::SenderHost, "A host did not run: sender's or receiver's.";
            TimeoutWait => timeout_wait, false, Whose::Path, "Waiting for a retransmission timeout or a tail loss probe.";
            LossRecovery => loss_recovery, false, Whose::Path, "Repairing losses.";
            ReceiverWindow => receiver_window, false, Whose::ReceiverHost, "The advertised window left no room.";
            ApplicationWindow => application_window, false, Whose::ReceiverApplication, "The sender waited for a message from its peer, with the same amount outstanding.";
            Http2Window => http2_window, false, Whose::ReceiverApplication, "The receiver's HTTP/2 window left no room.";
            Application => application, false, Whose::SenderApplication, "The sending application supplied no data.";
            ServerWait => server_wait, false, Whose::ServerApplication, "The server's application took its time from request to response.";
            ClientWait => client_wait, false, Whose::ClientApplication, "The client's application took its time from response to request.";
            ExpectContinue => expect_continue, false, Whose::ServerApplication, "The client waited for 100 Continue, which did not come.";
            SackNotAgreed => sack_not_agreed, false, Whose::Path, "Repairing one loss in each round trip, since SACK was not agreed.";
            PathMtu => path_mtu, false, Whose::Path, "Segments larger than the path's MTU were retransmitted in smaller ones.";
            SlowStart => slow_start, true, Whose::Path, "The congestion window was still growing exponentially.";
            TokenBucket => token_bucket, true, Whose::Path, "A token bucket had run empty.";
            BottleneckBandwidth => bottleneck_bandwidth, true, Whose::Path, "The path carried no more.";
            SendBuffer => send_buffer, true, Whose::SenderHost, "The sender kept no more in flight though window and path allowed it.";
            CongestionWindow => congestion_window, true, Whose::Path, "The congestion window, growing slowly or after a reduction.";
            Idle => idle, false, Whose::ReceiverApplication, "Nothing to do: the other side was sending.";
            Unknown => unknown, false, Whose::Unknown, "The capture does not show it.";
            #[cfg(test)]
            MadeUp => made_up, false, Whose::Unknown, "What the tests add, to see that a factor is one file and one line.";
        }
    };
}

pub(crate) use with_factors;

use crate::tcp::events::owner::Whose;

macro_rules! enumerate {
    ($($(#[$only:meta])* $variant:ident => $name:ident, $shows_capacity:literal, $whose:expr, $says:literal;)+) => {
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

            /// Whose time its intervals are.
            pub(crate) fn whose(self) -> Whose {
                match self {
                    $($(#[$only])* Self::$variant => $whose,)+
                }
            }
        }
    };
}

with_factors!(enumerate);

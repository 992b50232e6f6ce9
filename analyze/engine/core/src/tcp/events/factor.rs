//! What can limit a transfer at a moment (docs/verdict.md, "What limits"): the list of the limiting factors.
//!
//! A factor is one line here and one file of its name in `verdict/factors/`, which declares condition, words, remedy and
//! bounds of confidence. Enumeration, array of rules, names in results and in Python all come from this list.

/// Hands the list to a macro, one line for each factor, in the order in which `limits` lists them: variant, name (in results
/// and of its file), whether its intervals show what path and congestion control allow, whose time it is, who holds the transfer up, and what it
/// says.
macro_rules! with_factors {
    ($make:ident) => {
        $make! {
            Setup => setup, false, Whose::Path, Holder::Opening, "Opening: SYN to the end of the TCP handshake, or of the TLS handshake.";
            HostStall => host_stall, false, Whose::SenderHost, Holder::Stall, "A host did not run: sender's or receiver's.";
            TimeoutWait => timeout_wait, false, Whose::Path, Holder::Timeout, "Waiting for a retransmission timeout or a tail loss probe.";
            LossRecovery => loss_recovery, false, Whose::Path, Holder::Losses, "Repairing losses.";
            ReceiverWindow => receiver_window, false, Whose::ReceiverHost, Holder::Reader, "The advertised window left no room.";
            ApplicationWindow => application_window, false, Whose::ReceiverApplication, Holder::PeerApplication, "The sender waited for a message from its peer, with the same amount outstanding.";
            Http2Window => http2_window, false, Whose::ReceiverApplication, Holder::PeerApplication, "The receiver's HTTP/2 window left no room.";
            Application => application, false, Whose::SenderApplication, Holder::Application, "The sending application supplied no data.";
            ServerWait => server_wait, false, Whose::ServerApplication, Holder::ServerWait, "The server's application took its time from request to response.";
            ClientWait => client_wait, false, Whose::ClientApplication, Holder::ClientWait, "The client's application took its time from response to request.";
            ExpectContinue => expect_continue, false, Whose::ServerApplication, Holder::ClientWait, "The client waited for 100 Continue, which did not come.";
            NagleDelayedAck => nagle_delayed_ack, false, Whose::SenderHost, Holder::Application, "Small writes waited for delayed ACKs (Nagle's algorithm).";
            PathOutage => path_outage, false, Whose::Path, Holder::Outage, "The path carried nothing for a while.";
            SackNotAgreed => sack_not_agreed, false, Whose::Path, Holder::Repairs, "Repairing one loss in each round trip, since SACK was not agreed.";
            PathMtu => path_mtu, false, Whose::Path, Holder::Repairs, "Segments larger than the path's MTU were retransmitted in smaller ones.";
            AckPathFull => ack_path_full, true, Whose::PathBack, Holder::Acknowledgements, "ACKs waited in a queue of their direction, and the sender for them.";
            SlowStart => slow_start, true, Whose::Path, Holder::Growth, "The congestion window was still growing exponentially.";
            TokenBucket => token_bucket, true, Whose::Path, Holder::Bucket, "A token bucket had run empty.";
            BottleneckBandwidth => bottleneck_bandwidth, true, Whose::Path, Holder::Path, "The path carried no more.";
            SendBuffer => send_buffer, true, Whose::SenderHost, Holder::Buffer, "The sender kept no more in flight though window and path allowed it.";
            CongestionWindow => congestion_window, true, Whose::Path, Holder::Window, "The congestion window, growing slowly or after a reduction.";
            Idle => idle, false, Whose::ReceiverApplication, Holder::Turn, "Nothing to do: the other side was sending.";
            Unknown => unknown, false, Whose::Unknown, Holder::Unknown, "The capture does not show it.";
            #[cfg(test)]
            MadeUp => made_up, false, Whose::Unknown, Holder::Growth, "What the tests add, to see that a factor is one file and one line.";
        }
    };
}

pub(crate) use with_factors;

use crate::tcp::events::holder::Holder;
use crate::tcp::events::owner::Whose;

macro_rules! enumerate {
    ($($(#[$only:meta])* $variant:ident => $name:ident, $shows_capacity:literal, $whose:expr, $holder:expr, $says:literal;)+) => {
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

            /// Who holds the transfer up in its intervals.
            pub(crate) fn holder(self) -> Holder {
                match self {
                    $($(#[$only])* Self::$variant => $holder,)+
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

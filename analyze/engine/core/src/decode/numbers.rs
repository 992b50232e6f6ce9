//! Numbers of protocols and ports that several layers ask for.

use crate::decode::ip::protocol;

/// True if a datagram of this protocol can lead to TCP, so that its fragments are worth collecting.
pub(super) fn leads_to_tcp(number: u8) -> bool {
    matches!(
        number,
        protocol::TCP
            | protocol::IPV4
            | protocol::IPV6
            | protocol::GRE
            | protocol::UDP
            | protocol::AUTHENTICATION
            | protocol::MPLS
            | protocol::ETHERNET
            | protocol::DESTINATION
            | protocol::ROUTING
    )
}

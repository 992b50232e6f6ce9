//! BSD loopback frames as filters expect them.
//!
//! The frames begin with an address family in the numbers, and for NULL in the byte order, of the system that captured
//! them. libpcap compiles a filter for those of the system that it runs on.

use crate::decode::link::LoopbackFamily;
use crate::link_type;

const AF_INET: u32 = 2;

/// AF_INET6 of this system.
const AF_INET6: u32 = if cfg!(any(target_os = "linux", target_os = "android")) {
    10
} else if cfg!(target_vendor = "apple") {
    30
} else if cfg!(any(target_os = "freebsd", target_os = "dragonfly")) {
    28
} else if cfg!(windows) {
    23
} else {
    24
};

/// Room for one frame.
#[derive(Debug, Clone, Default)]
pub struct Loopback {
    frame: Vec<u8>,
}

impl Loopback {
    /// The frame as this system would have captured it; what is no loopback frame with IP as it is.
    pub fn as_captured_here<'a>(&'a mut self, link_type: u16, frame: &'a [u8]) -> &'a [u8] {
        if !matches!(link_type, link_type::NULL | link_type::LOOP) {
            return frame;
        }
        let Some((&family, packet)) = frame.split_first_chunk() else { return frame };
        let family = match LoopbackFamily::read(family) {
            LoopbackFamily::Ipv4 => AF_INET,
            LoopbackFamily::Ipv6 => AF_INET6,
            LoopbackFamily::Other => return frame,
        };
        self.frame.clear();
        self.frame.extend(if link_type == link_type::NULL { family.to_ne_bytes() } else { family.to_be_bytes() });
        self.frame.extend_from_slice(packet);
        &self.frame
    }
}

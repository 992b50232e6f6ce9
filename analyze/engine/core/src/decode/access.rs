//! Tunnels of access points, sniffers and tunnel brokers: CAPWAP data (RFC 5415), TZSP, AYIYA.

use crate::decode::entered::Entered;
use crate::decode::layer::Layer;
use crate::decode::numbers::protocol;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};
use crate::link_type;

mod capwap_flag {
    /// In the third byte: the frame is of the radio's kind, not of IEEE 802.3.
    pub const NATIVE: u8 = 0x01;
    pub const FRAGMENT: u8 = 0x80;
    pub const KEEP_ALIVE: u8 = 0x08;
}

/// A data packet: its header's length is in words. Of a frame in pieces nothing is read.
pub(super) fn capwap(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    // Preamble 1 is DTLS.
    let &[preamble, length, kind, flags] = view.head::<4>(HeaderPart::Tunnel)?;
    if preamble != 0 || flags & (capwap_flag::FRAGMENT | capwap_flag::KEEP_ALIVE) != 0 || length >> 3 < 2 {
        return Err(Undecoded::NotTcp);
    }
    view.skip(usize::from(length >> 3) * 4, HeaderPart::Tunnel)?;
    Ok(Entered::new("capwap", None, if kind & capwap_flag::NATIVE != 0 { Layer::Wifi } else { Layer::Ethernet }))
}

/// TaZmen sniffer protocol: what is inside by number, then fields up to the one of type 1.
pub(super) fn tzsp(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[version, kind, e0, e1] = view.take::<4>(HeaderPart::Tunnel)?;
    // Received, or for transmission.
    if version != 1 || kind > 1 {
        return Err(Undecoded::NotTcp);
    }
    loop {
        match view.take::<1>(HeaderPart::Tunnel)?[0] {
            0 => {}
            1 => break,
            _ => {
                let length = view.take::<1>(HeaderPart::Tunnel)?[0];
                view.skip(usize::from(length), HeaderPart::Tunnel)?;
            }
        }
    }
    let inner = match u16::from_be_bytes([e0, e1]) {
        1 => Layer::Ethernet,
        18 => Layer::Wifi,
        119 => Layer::Link(link_type::IEEE802_11_PRISM),
        127 => Layer::Link(link_type::IEEE802_11_AVS),
        _ => return Err(Undecoded::NotTcp),
    };
    Ok(Entered::new("tzsp", None, inner))
}

/// AYIYA (draft-massar-v6ops-ayiya): lengths of identity (power of two) and signature (words), what follows, time.
pub(super) fn ayiya(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[identity, signature, operation, next, ..] = view.take::<8>(HeaderPart::Tunnel)?;
    if operation & 0x0f != 1 || next != protocol::IPV6 {
        return Err(Undecoded::NotTcp);
    }
    view.skip((1 << (identity >> 4)) + usize::from(signature >> 4) * 4, HeaderPart::Tunnel)?;
    Ok(Entered::new("ayiya", None, Layer::Ip))
}

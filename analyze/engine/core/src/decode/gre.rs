//! GRE (RFC 2784, RFC 2890) and what uses its header: PPTP, ERSPAN, WCCP, Aruba's controllers.

use crate::decode::entered::Entered;
use crate::decode::ip;
use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

/// GRE header bits (RFC 1701, RFC 2890; acknowledgement: RFC 2637).
mod gre_bits {
    pub const CHECKSUM: u16 = 0x8000;
    pub const ROUTING: u16 = 0x4000;
    pub const KEY: u16 = 0x2000;
    pub const SEQUENCE: u16 = 0x1000;
    pub const ACKNOWLEDGEMENT: u16 = 0x0080;
    pub const VERSION: u16 = 0x0007;
}

/// Reads the header, and the one that some payloads have behind it.
pub(super) fn read(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let &[b0, b1, t0, t1] = view.take::<4>(HeaderPart::Tunnel)?;
    let (bits, kind) = (u16::from_be_bytes([b0, b1]), u16::from_be_bytes([t0, t1]));
    let version = bits & gre_bits::VERSION;
    let has = |bit: u16| usize::from(bits & bit != 0) * 4;
    let checksum = if has(gre_bits::CHECKSUM) + has(gre_bits::ROUTING) > 0 { 4 } else { 0 };
    let acknowledgement = if version == 1 { has(gre_bits::ACKNOWLEDGEMENT) } else { 0 };
    view.skip(checksum, HeaderPart::Tunnel)?;
    let key =
        if has(gre_bits::KEY) > 0 { Some(u32::from_be_bytes(*view.take::<4>(HeaderPart::Tunnel)?)) } else { None };
    view.skip(has(gre_bits::SEQUENCE) + acknowledgement, HeaderPart::Tunnel)?;
    if version == 0 && bits & gre_bits::ROUTING != 0 {
        source_routes(view)?;
    }
    let named = |kind, id, inner: Result<Layer, Undecoded>| inner.map(|inner| Entered::new(kind, id, inner));
    match (version, kind) {
        // PPTP (RFC 2637): PPP, unless the packet is a bare acknowledgement.
        (1, 0x880b) if bits & gre_bits::SEQUENCE != 0 => {
            // The low half of the key is the call.
            named("pptp", key.map(|key| key & 0xffff), Ok(Layer::Ppp))
        }
        (0, 0x88be) => erspan(view, bits & gre_bits::SEQUENCE != 0),
        (0, 0x22eb) => erspan3(view),
        // Cisco WCCP: a redirect header may come before the packet.
        (0, 0x883e) if ip::plausible(view) => named("wccp", None, Ok(Layer::Ip)),
        (0, 0x883e) => named("wccp", None, view.skip(4, HeaderPart::Tunnel).map(|()| Layer::Ip)),
        // Aruba controllers: IEEE 802.11 frames, the number tells the queue.
        (0, 0x8200..=0x83ff | 0x9000) => named("gre", key, Ok(Layer::Wifi)),
        (0, 0..1536) | (1.., _) => Err(Undecoded::NotTcp),
        (0, kind) => named("gre", key, Ok(Layer::EtherType(kind))),
    }
}

/// Source route entries of RFC 1701, up to the empty one.
fn source_routes(view: &mut View<'_>) -> Result<(), Undecoded> {
    loop {
        let &[f0, f1, _, length] = view.take::<4>(HeaderPart::Tunnel)?;
        if [f0, f1, length] == [0, 0, 0] {
            return Ok(());
        }
        view.skip(usize::from(length), HeaderPart::Tunnel)?;
    }
}

/// ERSPAN: type I has no header, type II (identified by GRE's sequence number) one of 8 bytes.
fn erspan(view: &mut View<'_>, sequenced: bool) -> Result<Entered, Undecoded> {
    let session = if sequenced { Some(session(view.take::<8>(HeaderPart::Tunnel)?)) } else { None };
    Ok(Entered::new("erspan", session, Layer::Ethernet))
}

/// Ten bits of the second word's half.
fn session(header: &[u8]) -> u32 {
    match *header {
        [_, _, s0, s1, ..] => u32::from(u16::from_be_bytes([s0, s1]) & 0x3ff),
        _ => 0,
    }
}

/// ERSPAN type III: 12 bytes, and 8 more if the last bit says so. Frame type 0 is Ethernet, 2 an IP packet.
fn erspan3(view: &mut View<'_>) -> Result<Entered, Undecoded> {
    let header @ &[.., kind, flags] = view.take::<12>(HeaderPart::Tunnel)?;
    if flags & 1 != 0 {
        view.skip(8, HeaderPart::Tunnel)?;
    }
    let inner = if (kind >> 2) & 0x1f == 2 { Layer::Ip } else { Layer::Ethernet };
    Ok(Entered::new("erspan", Some(session(header)), inner))
}

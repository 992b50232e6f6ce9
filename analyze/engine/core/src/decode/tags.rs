//! Tags between an Ethernet header and its EtherType that are no VLAN tags, and headers that carry a frame of their own.

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

/// MACsec's integrity check value, bytes, where the user data stays as it was (IEEE 802.1AE section 9.3).
const CHECK_VALUE_BYTES: u32 = 16;

/// `N` bytes of which the last two are the EtherType of what follows: VN-Tag (Cisco), HSR (IEC 62439-3), a DSA tag behind an
/// EtherType (Linux), redundancy (IEEE 802.1CB), port extension (IEEE 802.1BR).
pub(super) fn plain<const N: usize>(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    match *view.take::<N>(HeaderPart::Link)?.as_slice() {
        [.., t0, t1] => Ok(Layer::EtherType(u16::from_be_bytes([t0, t1]))),
        _ => Err(Undecoded::BadLinkHeader),
    }
}

/// Cisco MetaData (security group tags): version, length in words of four bytes, options.
pub(super) fn metadata(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[version, words] = view.take::<2>(HeaderPart::Link)?;
    if version != 1 || words == 0 {
        return Err(Undecoded::BadLinkHeader);
    }
    view.skip(usize::from(words) * 4, HeaderPart::Link)?;
    plain::<2>(view)
}

/// TRILL (RFC 6325 section 3): flags with the length of options in words, hop limit, two nicknames; then a frame.
pub(super) fn trill(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[f0, f1, ..] = view.take::<6>(HeaderPart::Link)?;
    let flags = u16::from_be_bytes([f0, f1]);
    if flags >> 14 != 0 {
        return Err(Undecoded::BadLinkHeader);
    }
    view.skip(usize::from(flags >> 6 & 0x1f) * 4, HeaderPart::Link)?;
    Ok(Layer::Ethernet)
}

/// The bits of MACsec's first byte (IEEE 802.1AE section 9.5).
mod tag_control {
    pub const VERSION: u8 = 0x80;
    pub const CHANNEL: u8 = 0x20;
    /// Encrypted, or changed text.
    pub const HIDDEN: u8 = 0x0c;
}

/// MACsec. What it only protects is read; what it hides is not.
pub(super) fn macsec(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[control, length, ..] = view.take::<6>(HeaderPart::Link)?;
    if control & tag_control::VERSION != 0 {
        return Err(Undecoded::BadLinkHeader);
    }
    if control & tag_control::HIDDEN != 0 {
        return Err(Undecoded::EncryptedMacsec);
    }
    if control & tag_control::CHANNEL != 0 {
        view.skip(8, HeaderPart::Link)?;
    }
    // Short frames say how long their data is, as padding follows the check value.
    match length & 0x3f {
        0 => view.drop_tail(CHECK_VALUE_BYTES),
        length => view.declare(u32::from(length)),
    }
    plain::<2>(view)
}

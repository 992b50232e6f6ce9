//! IEEE 802.11 data frames and the headers that capture programs put before them.

use crate::decode::layer::Layer;
use crate::decode::reason::Undecoded;
use crate::decode::view::{HeaderPart, View};

/// Message code of a Prism header, in either byte order; drivers also put an AVS header where Prism is announced.
const PRISM_MESSAGE: u32 = 0x44;

/// Magic of the AVS header, without the version.
const AVS_MAGIC: u32 = 0x8021_1000;

mod frame_control {
    /// Second byte.
    pub const TO_DS: u8 = 0x01;
    pub const FROM_DS: u8 = 0x02;
    pub const MORE_FRAGMENTS: u8 = 0x04;
    pub const PROTECTED: u8 = 0x40;
    pub const ORDER: u8 = 0x80;
}

/// Reads an 802.11 header (IEEE 802.11-2020 section 9.3.2.1) and leaves `view` at the LLC header.
pub(super) fn read(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    mac(view, false)
}

fn mac(view: &mut View<'_>, padded: bool) -> Result<Layer, Undecoded> {
    let &[control, flags] = view.head::<2>(HeaderPart::Link)?;
    let (version, kind, subtype) = (control & 3, (control >> 2) & 3, control >> 4);
    if version != 0 {
        return Err(Undecoded::BadLinkHeader);
    }
    // Type 2 is data; subtypes with bit 2 carry none.
    if kind != 2 || subtype & 4 != 0 {
        return Err(Undecoded::NotIp);
    }
    let fixed = view.head::<24>(HeaderPart::Link)?;
    let quality_of_service = subtype & 8 != 0;
    let mut length = 24;
    if flags & (frame_control::TO_DS | frame_control::FROM_DS) == frame_control::TO_DS | frame_control::FROM_DS {
        length += 6;
    }
    let quality_at = length;
    if quality_of_service {
        length += if flags & frame_control::ORDER != 0 { 6 } else { 2 };
    }
    let fragment = fixed[22] & 0x0f != 0 || flags & frame_control::MORE_FRAGMENTS != 0;
    let bundle = quality_of_service && view.byte(quality_at).is_some_and(|byte| byte & 0x80 != 0);
    view.skip(if padded { (length + 3) & !3 } else { length }, HeaderPart::Link)?;
    // Frames decrypted by the capturing driver may keep the flag, but then they begin with a SNAP header.
    if flags & frame_control::PROTECTED != 0 && !view.data.starts_with(&[0xaa, 0xaa, 3]) {
        return Err(Undecoded::EncryptedWifi);
    }
    if fragment || bundle {
        return Err(Undecoded::WifiAggregate);
    }
    Ok(Layer::Llc)
}

/// Radiotap (radiotap.org): only the flags field is of interest; it follows the optional time, both in fixed order.
pub(super) fn radiotap(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[version, _, l0, l1, p0, p1, p2, p3] = view.head::<8>(HeaderPart::Link)?;
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    if version != 0 || length < 8 {
        return Err(Undecoded::BadLinkHeader);
    }
    let flags = radiotap_flags(view.data.get(..length).unwrap_or(view.data), u32::from_le_bytes([p0, p1, p2, p3]));
    view.skip(length, HeaderPart::Link)?;
    // Frame check sequence at the end.
    if flags & 0x10 != 0 {
        view.drop_tail(4);
    }
    // Bad frame check sequence: nothing in such a frame can be believed, and the sender repeats it.
    if flags & 0x40 != 0 {
        return Err(Undecoded::CorruptFrame);
    }
    mac(view, flags & 0x20 != 0)
}

/// The flags field, or 0 if the header has none.
fn radiotap_flags(header: &[u8], present: u32) -> u8 {
    if present & 2 == 0 {
        return 0;
    }
    // More presence words follow while bit 31 is set.
    let words = header.get(4..).unwrap_or_default().chunks_exact(4);
    let count = words.take_while(|word| word.get(3).is_some_and(|byte| byte & 0x80 != 0)).count();
    let mut at = 4 + 4 * (count + 1);
    if present & 1 != 0 {
        at = ((at + 7) & !7) + 8;
    }
    header.get(at).copied().unwrap_or(0)
}

/// Prism monitoring header: its length is in it, in the byte order of the capturing machine.
pub(super) fn prism(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[m0, m1, m2, m3, l0, l1, l2, l3] = view.head::<8>(HeaderPart::Link)?;
    let (message, length) = ([m0, m1, m2, m3], [l0, l1, l2, l3]);
    if u32::from_be_bytes(message) & 0xffff_f000 == AVS_MAGIC {
        return avs(view);
    }
    let little = u32::from_le_bytes(message) == PRISM_MESSAGE;
    let length = if little { u32::from_le_bytes(length) } else { u32::from_be_bytes(length) };
    step_over(view, length)
}

/// AVS header: network byte order.
pub(super) fn avs(view: &mut View<'_>) -> Result<Layer, Undecoded> {
    let &[_, _, _, _, l0, l1, l2, l3] = view.head::<8>(HeaderPart::Link)?;
    step_over(view, u32::from_be_bytes([l0, l1, l2, l3]))
}

fn step_over(view: &mut View<'_>, length: u32) -> Result<Layer, Undecoded> {
    if length < 8 {
        return Err(Undecoded::BadLinkHeader);
    }
    view.skip(length as usize, HeaderPart::Link)?;
    Ok(Layer::Wifi)
}

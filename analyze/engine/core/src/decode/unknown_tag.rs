//! An EtherType that nobody knows may be that of a tag: then an IP packet that proves itself stands behind another EtherType.

use crate::decode::layer::Layer;
use crate::decode::numbers::ether_type;
use crate::decode::proof::{Strictness, is_proved};
use crate::decode::view::{HeaderPart, View};

/// The longest tag that is looked behind, with the EtherType at its end.
const LONGEST_TAG: usize = 18;

/// Leaves `view` at the packet.
pub(super) fn read(view: &mut View<'_>) -> Option<Layer> {
    for length in (2..=LONGEST_TAG).step_by(2) {
        let kind = view.u16(length - 2);
        let mut behind = *view;
        if matches!(kind, Some(ether_type::IPV4 | ether_type::IPV6))
            && behind.skip(length, HeaderPart::Link).is_ok()
            && is_proved(behind, Layer::Ip, Strictness::ByLook)
        {
            *view = behind;
            return Some(Layer::Ip);
        }
    }
    None
}

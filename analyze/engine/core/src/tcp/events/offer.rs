//! What a side offers in its SYN or SYN-ACK (RFC 9293 section 3.2, RFC 7323, RFC 2018).

use crate::decode::options::{Options, OptionsEnd};

/// What a side offered in its SYN or SYN-ACK.
#[derive(Debug, Default, Clone, Copy)]
pub struct Offer {
    /// The SYN was seen.
    pub seen: bool,
    /// Some of its options were not captured.
    pub cut: bool,
    /// Largest segment it takes (RFC 9293 section 3.7.1); 0 if the option was absent.
    pub maximum_segment_size: u16,
    /// Window shift (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: bool,
    /// Multipath TCP (RFC 8684).
    pub multipath: bool,
}

impl Offer {
    /// Nothing was seen.
    pub const NONE: Self = Self {
        seen: false,
        cut: false,
        maximum_segment_size: 0,
        window_scale: None,
        sack_permitted: false,
        timestamps: false,
        multipath: false,
    };

    /// Whether it scales windows, and by what, is known.
    pub fn tells_scale(&self) -> bool {
        self.seen && (!self.cut || self.window_scale.is_some())
    }

    /// Reads a SYN's options.
    pub fn of(options: &Options) -> Self {
        Self {
            seen: true,
            cut: options.end == OptionsEnd::Cut,
            maximum_segment_size: options.maximum_segment_size.unwrap_or(0),
            window_scale: options.window_scale,
            sack_permitted: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
            multipath: options.multipath,
        }
    }
}

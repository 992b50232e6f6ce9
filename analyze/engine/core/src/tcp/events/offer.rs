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

/// What both sides made of window scaling (RFC 7323 section 2.2: it holds only if both SYNs have the option).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Too little of the opening was captured.
    #[default]
    Unknown,
    /// Both SYNs have the option.
    Agreed,
    /// The client did not offer it.
    NotOffered,
    /// One SYN has the option, the other has not: one side does not know it, or a device on the path removed it.
    OfferedNotAgreed,
}

impl Scaling {
    /// By the SYN of the client and that of the server.
    pub fn of(client: &Offer, server: &Offer) -> Self {
        let scale = |offer: &Offer| offer.tells_scale().then_some(offer.window_scale.is_some());
        match (scale(client), scale(server)) {
            // A server has the option in its SYN-ACK only if the SYN had it.
            (Some(true) | None, Some(true)) => Self::Agreed,
            (Some(false), Some(false) | None) => Self::NotOffered,
            (Some(true), Some(false)) | (Some(false), Some(true)) => Self::OfferedNotAgreed,
            (Some(true) | None, None) | (None, Some(false)) => Self::Unknown,
        }
    }

    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Agreed => "agreed",
            Self::NotOffered => "not_offered",
            Self::OfferedNotAgreed => "offered_not_agreed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(window_scale: Option<u8>) -> Offer {
        Offer { seen: true, window_scale, ..Offer::default() }
    }

    #[test]
    fn scaling_needs_the_option_in_both_syns() {
        let word = |client: &Offer, server: &Offer| Scaling::of(client, server).name();
        let (with, without) = (offer(Some(7)), offer(None));
        assert_eq!(word(&with, &with), "agreed");
        assert_eq!(word(&without, &without), "not_offered");
        assert_eq!([word(&with, &without), word(&without, &with)], ["offered_not_agreed"; 2]);
    }

    #[test]
    fn what_was_not_captured_is_concluded_only_where_one_syn_is_enough() {
        let word = |client: &Offer, server: &Offer| Scaling::of(client, server).name();
        let (with, without, unseen) = (offer(Some(7)), offer(None), Offer::default());
        assert_eq!([word(&unseen, &with), word(&without, &unseen)], ["agreed", "not_offered"]);
        assert_eq!([word(&with, &unseen), word(&unseen, &without), word(&unseen, &unseen)], ["unknown"; 3]);
        let cut = Offer { cut: true, ..without };
        assert_eq!(word(&with, &cut), "unknown", "its options were not all captured");
    }
}

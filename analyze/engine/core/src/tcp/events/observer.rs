//! What measures: it is shown the events of one direction, the same whether the general rules or the fast path made them.
//!
//! A measurement of its own is one file with an [`Observer`] in it, and one word in the list of
//! [`crate::tcp::direction::observers`]. The list is a type: no call goes through a table, and what an observer leaves out costs
//! nothing.

use crate::tcp::events::acked::Acked;
use crate::tcp::events::context::Context;
use crate::tcp::events::sent::Sent;

/// See the module.
pub trait Observer {
    /// The direction sent data.
    #[inline(always)]
    fn on_sent(&mut self, _sent: &Sent<'_>, _context: &Context) {}

    /// Its peer has acknowledged.
    #[inline(always)]
    fn on_acked(&mut self, _acked: &Acked<'_>, _context: &Context) {}
}

impl<O: Observer> Observer for &mut O {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, context: &Context) {
        (**self).on_sent(sent, context);
    }

    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, context: &Context) {
        (**self).on_acked(acked, context);
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline(always)]
    fn on_sent(&mut self, sent: &Sent<'_>, context: &Context) {
        self.0.on_sent(sent, context);
        self.1.on_sent(sent, context);
    }

    #[inline(always)]
    fn on_acked(&mut self, acked: &Acked<'_>, context: &Context) {
        self.0.on_acked(acked, context);
        self.1.on_acked(acked, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::tcp::events::sent::{Data, SentKind};

    #[derive(Default)]
    struct Bytes(u64);

    impl Observer for Bytes {
        fn on_sent(&mut self, sent: &Sent<'_>, _context: &Context) {
            self.0 += sent.data.end - sent.data.start;
        }
    }

    #[derive(Default)]
    struct Acknowledgements(u32);

    impl Observer for Acknowledgements {
        fn on_acked(&mut self, _acked: &Acked<'_>, context: &Context) {
            self.0 += u32::from(context.sack);
        }
    }

    #[test]
    fn each_in_the_list_is_shown_what_it_asks_for() {
        let (mut bytes, mut acknowledgements) = (Bytes::default(), Acknowledgements::default());
        let (packet, context) = (Packet::default(), Context { sack: true, ..Context::default() });
        let data = Data {
            packet: &packet,
            start: 100,
            end: 300,
            highest: 300,
            segments: 1,
            segment_size: 200,
            is_short: false,
            is_contiguous: true,
            kind: SentKind::Data,
        };
        let acked = Acked { packet: &packet, position: 300, advances: None, pace_rtt_ns: None, window: None };
        let mut list = (&mut bytes, (&mut acknowledgements, Bytes::default()));
        list.on_sent(&Sent { data, spacing_ns: None, numbering: None, largest_payload: 200 }, &context);
        list.on_acked(&acked, &context);
        assert_eq!((list.1.1.0, bytes.0, acknowledgements.0), (200, 200, 1));
    }
}

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

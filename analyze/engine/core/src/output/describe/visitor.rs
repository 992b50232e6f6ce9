//! Who takes a description: the JSON writer, the columns, the list of fields. Owns the contract; the fields are the other
//! files' here.

use crate::output::key::Key;
use crate::tcp::summary::summary::ConnectionSummary;

/// Parts of a description that most connections have word for word in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Common {
    /// The counters of a direction that repeated, lost and reordered nothing.
    NoLoss,
    /// Round trips of a direction without a sample, clean or not.
    NoRoundTrips,
    /// Spacing of fewer than two data packets.
    NoSpacing,
}

impl Common {
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// Parts of which columns hold less than the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abridged {
    /// What became of the connection.
    Outcome,
    /// ICMP errors about it.
    IcmpErrors,
    /// Why it was slow.
    Verdict,
}

/// Takes the description. Every method is called for every connection in the same order, whatever is known of it, except
/// inside an object that [`Visitor::object`] declines and a part that [`Visitor::part`] knows already.
pub trait Visitor {
    /// An object begins; false if its fields are not wanted because it is absent.
    fn object(&mut self, key: Key, present: bool) -> bool;
    /// The object ends.
    fn end(&mut self);
    /// An object that is left out where it is absent; false if its fields are not wanted.
    fn optional_object(&mut self, key: Key, present: bool) -> bool;
    /// An instant that may not be known.
    fn known_instant(&mut self, key: Key, value: Option<i64>);
    /// An integer.
    fn integer(&mut self, key: Key, value: Option<u64>);
    /// An instant, Unix nanoseconds.
    fn instant(&mut self, key: Key, value: i64);
    /// A duration given in nanoseconds, told in seconds.
    fn seconds(&mut self, key: Key, value_ns: Option<f64>);
    /// A duration of whole nanoseconds, told in seconds.
    fn exact_seconds(&mut self, key: Key, value_ns: Option<i64>);
    /// A share, a mean, a rate.
    fn number(&mut self, key: Key, value: Option<f64>);
    /// A word of our own, which has nothing in it that would have to be escaped.
    fn word(&mut self, key: Key, value: Option<&'static str>);
    /// A text out of the capture.
    fn text(&mut self, key: Key, value: Option<&str>);
    /// Address and port of the client (0) or the server (1).
    fn endpoint(&mut self, key: Key, summary: &ConnectionSummary, side: usize);
    /// Yes or no.
    fn flag(&mut self, key: Key, value: Option<bool>);
    /// A list of texts.
    fn texts(&mut self, key: Key, values: &[String]);
    /// Reasons by field, both words of our own.
    fn reasons(&mut self, key: Key, reasons: impl Iterator<Item = (&'static str, &'static str)>);
    /// A list of numbers, such as those of frames.
    fn integers(&mut self, key: Key, values: impl Iterator<Item = u64>);
    /// A list of instants, Unix nanoseconds.
    fn instants(&mut self, key: Key, values: impl Iterator<Item = i64>);
    /// A list of words of our own.
    fn words(&mut self, key: Key, values: impl Iterator<Item = &'static str>);
    /// Numbers by name.
    fn counts<'a>(&mut self, key: Key, counts: impl Iterator<Item = (&'a str, u64)>);
    /// A list of objects, none where it is null. `describe` reports one of them; what is known without one, if there is none.
    fn records<T>(
        &mut self,
        key: Key,
        items: Option<impl Iterator<Item = T>>,
        describe: impl FnMut(Option<T>, &mut Self),
    );
    /// Whether lists that are long are wanted, too.
    fn wants_long_lists(&self) -> bool {
        true
    }
    /// Fields that are no columns.
    #[inline(always)]
    fn in_document_only(&mut self, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        describe(self);
    }
    /// A part of which a visitor may want other fields than `describe` reports: why it was slow, what became of it.
    fn abridged(&mut self, part: Abridged, summary: &ConnectionSummary, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let _ = (part, summary);
        describe(self);
    }
    /// A part reported by `describe`. Given as [`Common`], it is the same for every connection that gives it so: the visitor may
    /// repeat what it made of it the first time.
    #[inline]
    fn part(&mut self, common: Option<Common>, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let _ = common;
        describe(self);
    }
    /// Fields reported by `describe`. Without `any` of them set, a visitor that leaves out what is not set may pass them over.
    #[inline(always)]
    fn seldom(&mut self, any: bool, describe: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let _ = any;
        describe(self);
    }
}

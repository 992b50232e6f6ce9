//! Values of a summary that take no more room than most connections need: a capture may hold a million of them.

use std::ops::{Deref, DerefMut};

/// Counters that are all zero for nearly every connection, and take no room then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seldom<T>(Option<Box<T>>);

/// What a [`Seldom`] holds nearly always.
pub trait Usual: Clone + PartialEq + 'static {
    /// That value.
    const USUAL: &'static Self;
}

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Self::USUAL
    }
}

impl<T> Seldom<T> {
    /// The usual.
    pub const USUAL: Self = Self(None);
}

impl<T: Usual> From<&T> for Seldom<T> {
    fn from(value: &T) -> Self {
        Self((value != T::USUAL).then(|| Box::new(value.clone())))
    }
}

impl<T: Usual> From<T> for Seldom<T> {
    fn from(value: T) -> Self {
        Self((value != *T::USUAL).then(|| Box::new(value)))
    }
}

impl<T: Usual> Deref for Seldom<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::USUAL)
    }
}

impl<T: Usual> DerefMut for Seldom<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::USUAL.clone()))
    }
}

/// A number that was measured, or none, in the room of the number alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured(u64);

impl Measured {
    const NOT: u64 = u64::MAX;
    /// No number.
    pub const NONE: Self = Self(Self::NOT);

    /// The number, if there is one.
    #[inline]
    pub fn get(self) -> Option<u64> {
        (self.0 != Self::NOT).then_some(self.0)
    }
}

impl Default for Measured {
    fn default() -> Self {
        Self::NONE
    }
}

impl From<Option<u64>> for Measured {
    /// Nothing that is measured here comes near the largest number.
    #[inline]
    fn from(value: Option<u64>) -> Self {
        Self(value.map_or(Self::NOT, |value| value.min(Self::NOT - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Usual for u64 {
        const USUAL: &'static Self = &0;
    }

    #[test]
    fn what_is_seldom_takes_room_only_where_it_is_unusual() {
        let mut counter = Seldom::from(&0u64);
        assert_eq!((*counter, counter.0.is_some()), (0, false));
        *counter += 2;
        assert_eq!((*counter, counter.0.is_some()), (2, true));
        assert_eq!(counter, Seldom::from(&2));
    }

    #[test]
    fn a_number_or_none_comes_back_as_it_was() {
        for value in [None, Some(0), Some(7)] {
            assert_eq!(Measured::from(value).get(), value);
        }
        assert_eq!(Measured::default().get(), None);
    }
}

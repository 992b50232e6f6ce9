//! Boxes that what is over leaves to what begins, with the room that lists have made in them.
//!
//! A short connection costs a dozen allocations that the next one needs again, of the same sizes. Only so many are kept that
//! they make no difference to the memory of a shard.

/// Boxes kept.
const MOST: usize = 64;

/// See the module. The boxes are what is spared: they go as they came, and nothing in them is moved.
#[allow(clippy::vec_box)]
pub struct Pool<T> {
    spare: Vec<Box<T>>,
}

/// A copy begins without any: spares are no state.
impl<T> Clone for Pool<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { spare: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Gives something new its place.
    #[inline(always)]
    pub fn place(&mut self, begin: impl FnOnce() -> T) -> Box<T> {
        match self.spare.pop() {
            Some(mut place) => {
                *place = begin();
                place
            }
            None => Box::new(begin()),
        }
    }

    /// One that was left, as it was left; none if there are none to spare.
    pub fn take(&mut self) -> Option<Box<T>> {
        self.spare.pop()
    }

    /// True if another one would be kept.
    pub fn has_room(&self) -> bool {
        self.spare.len() < MOST
    }

    /// Keeps one for others, if there is room.
    pub fn leave(&mut self, spare: Box<T>) {
        if self.has_room() {
            self.spare.push(spare);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_are_kept() {
        let mut pool = Pool::default();
        (0..2 * MOST).for_each(|value| pool.leave(Box::new(value)));
        assert_eq!(std::iter::from_fn(|| pool.take()).count(), MOST);
    }

    #[test]
    fn what_is_placed_is_new() {
        let mut pool = Pool::default();
        pool.leave(Box::new(7));
        assert_eq!((*pool.place(|| 8), *pool.place(|| 9)), (8, 9));
    }
}

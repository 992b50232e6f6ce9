//! Tables by a fast hash. Each is keyed at random, so that a capture cannot be made to fill one place of it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;

/// A table; made by `default`.
pub(crate) type KeyedMap<K, V> = HashMap<K, V, RandomState>;

/// A set; made by `default`.
pub(crate) type KeyedSet<K> = HashSet<K, RandomState>;

/// Where the entries of a list move that a table knows by their places: those without a new place are dropped.
pub(crate) fn move_places<K: Eq + Hash, P: TryInto<usize> + TryFrom<usize> + Copy, S: BuildHasher>(
    table: &mut HashMap<K, P, S>,
    places: &[Option<usize>],
) {
    let moved = |place: P| places.get(place.try_into().ok()?).copied().flatten().and_then(|new| P::try_from(new).ok());
    table.retain(|_, place| {
        let new = moved(*place);
        *place = new.unwrap_or(*place);
        new.is_some()
    });
}

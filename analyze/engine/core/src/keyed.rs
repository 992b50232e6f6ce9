//! Tables by a fast hash. Each is keyed at random, so that a capture cannot be made to fill one place of it.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A table; made by `default`.
pub(crate) type KeyedMap<K, V> = HashMap<K, V, RandomState>;

/// A set; made by `default`.
pub(crate) type KeyedSet<K> = HashSet<K, RandomState>;

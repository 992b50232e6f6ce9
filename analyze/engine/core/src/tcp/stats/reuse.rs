//! How much room a list keeps when its owner is reused for another connection.

use std::collections::VecDeque;

/// Lists with room for more than this give it back.
const MOST_ROOM: usize = 64;

/// The room of a list, without what was in it.
// Inlined, as all that lead here: a list given back through memory is read before its writing is over.
#[inline(always)]
pub(crate) fn room_of<T>(list: &mut Vec<T>) -> Vec<T> {
    let mut room = std::mem::take(list);
    room.clear();
    if room.capacity() > MOST_ROOM { Vec::new() } else { room }
}

/// As [`room_of`].
#[inline(always)]
pub(crate) fn room_of_queue<T>(queue: &mut VecDeque<T>) -> VecDeque<T> {
    let mut room = std::mem::take(queue);
    room.clear();
    if room.capacity() > MOST_ROOM { VecDeque::new() } else { room }
}

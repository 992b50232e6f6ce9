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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_keeps_its_room_and_a_long_one_gives_it_back() {
        let (mut short, mut long) = (vec![0; 8], vec![0; MOST_ROOM + 1]);
        let kept = room_of(&mut short);
        assert!(kept.is_empty() && kept.capacity() >= 8 && short.capacity() == 0);
        assert_eq!(room_of(&mut long).capacity(), 0);
    }

    #[test]
    fn queues_do_the_same() {
        let (mut short, mut long) = (VecDeque::from(vec![0; 8]), VecDeque::from(vec![0; MOST_ROOM + 1]));
        let kept = room_of_queue(&mut short);
        assert!(kept.is_empty() && kept.capacity() >= 8);
        assert_eq!(room_of_queue(&mut long).capacity(), 0);
    }
}

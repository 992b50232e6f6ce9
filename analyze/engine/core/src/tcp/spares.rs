//! What connections that are over leave to those that begin: their records, with the room that lists have made in them.
//!
//! A short connection costs a dozen allocations that the next one needs again, of the same sizes. Only so many are kept that
//! they make no difference to the memory of a shard, and none with lists that have grown large.

use std::collections::VecDeque;

use super::connection::Connection;
use super::half::Live;

/// Records kept of each kind.
const MOST: usize = 64;
/// Lists with room for more than this give it back.
const MOST_ROOM: usize = 64;

/// See the module. The boxes are what is spared: they go as they came, and nothing in them is moved.
#[derive(Default)]
#[allow(clippy::vec_box)]
pub struct Spares {
    connections: Vec<Box<Connection>>,
    lives: Vec<Box<Live>>,
}

impl Spares {
    /// Gives a new connection its place.
    #[inline(always)]
    pub fn place(&mut self, begin: impl FnOnce() -> Connection) -> Box<Connection> {
        match self.connections.pop() {
            Some(mut place) => {
                *place = begin();
                place
            }
            None => Box::new(begin()),
        }
    }

    /// A conversation's records as they are at first; none if there are none to spare.
    pub fn live(&mut self) -> Option<Box<Live>> {
        let mut live = self.lives.pop()?;
        live.renew();
        Some(live)
    }

    /// Takes what a connection leaves that is over.
    pub fn leave(&mut self, mut connection: Box<Connection>) {
        for half in &mut connection.halves {
            if self.lives.len() < MOST {
                self.lives.extend(half.live.take());
            }
        }
        if self.connections.len() < MOST {
            self.connections.push(connection);
        }
    }
}

/// The room of a list, without what was in it.
// Inlined, as all that lead here: a list given back through memory is read before its writing is over.
#[inline(always)]
pub(super) fn room_of<T>(list: &mut Vec<T>) -> Vec<T> {
    let mut room = std::mem::take(list);
    room.clear();
    if room.capacity() > MOST_ROOM { Vec::new() } else { room }
}

/// As [`room_of`].
#[inline(always)]
pub(super) fn room_of_queue<T>(queue: &mut VecDeque<T>) -> VecDeque<T> {
    let mut room = std::mem::take(queue);
    room.clear();
    if room.capacity() > MOST_ROOM { VecDeque::new() } else { room }
}

//! What connections that are over leave to those that begin: their records, with the room that lists have made in them.
//!
//! A short connection costs a dozen allocations that the next one needs again, of the same sizes. Only so many are kept that
//! they make no difference to the memory of a shard, and none with lists that have grown large.

use crate::tcp::connection::connection::Connection;
use crate::tcp::direction::direction::Live;

/// Records kept of each kind.
const MOST: usize = 64;

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

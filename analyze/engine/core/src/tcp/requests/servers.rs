//! Requests of all connections to one server: totals, and quantiles of the single requests, not of the connections' quantiles.

use std::collections::BTreeMap;

use crate::tcp::requests::longest::{Sketches, Totals};
use crate::tcp::requests::summary::RequestSummary;

/// Servers that are listed; of more, those with the most time.
pub const MOST_SERVERS: usize = 100;

/// Servers that are counted; in a capture of more the rest is left out.
const MOST_COUNTED: usize = 100_000;

/// Address (16 bytes, of IPv4 the first four), version and port.
pub type ServerKey = ([u8; 16], u8, u16);

/// What is known of a server.
#[derive(Debug, Default, Clone)]
pub struct Server {
    /// Connections with requests.
    pub connections: u64,
    /// Of all of them.
    pub totals: Totals,
    /// Of all of them.
    pub sketches: Sketches,
    /// Place of its first connection.
    pub first: usize,
}

/// All servers of a capture.
#[derive(Debug, Default)]
pub struct Servers(BTreeMap<ServerKey, Server>);

impl Servers {
    /// Adds a connection, the one at this place.
    pub fn add(&mut self, key: ServerKey, place: usize, requests: &RequestSummary) {
        if self.0.len() >= MOST_COUNTED && !self.0.contains_key(&key) {
            return;
        }
        let server = self.0.entry(key).or_insert_with(|| Server { first: place, ..Server::default() });
        server.connections += 1;
        server.totals.add(&requests.longest.totals);
        server.sketches.add_all(&requests.longest);
    }

    /// Those whose requests took the longest time together, the longest first.
    pub fn into_list(self) -> Vec<Server> {
        let mut list: Vec<Server> = self.0.into_values().collect();
        let time_ns = |totals: &Totals| totals.request_ns + totals.first_byte_ns + totals.response_ns;
        list.sort_by_key(|server| (std::cmp::Reverse(time_ns(&server.totals)), server.first));
        list.truncate(MOST_SERVERS);
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::requests::longest::{Exchange, Longest};
    use crate::tcp::stats::compact::Measured;

    fn requests(first_bytes_ns: &[u64]) -> RequestSummary {
        let mut longest = Longest::default();
        for &first_byte_ns in first_bytes_ns {
            longest.add(Exchange {
                start: (0, 1),
                request_ns: 0,
                request_bytes: 10,
                first_byte_ns,
                response_ns: 0,
                response_bytes: 20,
                frames: [2, 3],
            });
        }
        RequestSummary { longest, handshake_ns: Measured::NONE, tls_ns: Measured::NONE, server_loop_ns: Measured::NONE }
    }

    #[test]
    fn the_median_is_that_of_all_requests() {
        let mut servers = Servers::default();
        servers.add(([1; 16], 4, 80), 0, &requests(&[10]));
        servers.add(([1; 16], 4, 80), 1, &requests(&[30; 40]));
        servers.add(([2; 16], 4, 80), 2, &requests(&[5]));
        let mut list = servers.into_list();
        assert_eq!(
            list.iter().map(|server| (server.first, server.totals.count)).collect::<Vec<_>>(),
            [(0, 41), (2, 1)]
        );
        list[0].sketches.first_byte.settle();
        assert_eq!(list[0].sketches.first_byte.quantiles([0.5]), Some([30.0]));
    }

    #[test]
    fn the_list_is_bounded() {
        let mut servers = Servers::default();
        (0..300u16).for_each(|port| servers.add(([1; 16], 4, port), usize::from(port), &requests(&[1])));
        assert_eq!(servers.into_list().len(), MOST_SERVERS);
    }
}

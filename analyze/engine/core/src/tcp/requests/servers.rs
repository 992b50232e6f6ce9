//! Requests of all connections to one server: totals, and quantiles of the single requests, not of the connections' quantiles.

use std::collections::BTreeMap;

use crate::tcp::requests::longest::{RequestTotals, Sketches};
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::stats::packed::Packed;
use crate::tcp::stats::quantile_sketch::DurationSketch;

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
    pub totals: RequestTotals,
    /// Of all of them.
    pub sketches: Sketches,
    /// Place of its first connection.
    pub first: usize,
}

impl Server {
    fn add(&mut self, other: &Self) {
        self.connections += other.connections;
        self.totals.add(&other.totals);
        self.sketches.merge(&other.sketches);
        self.first = self.first.min(other.first);
    }

    fn put(&self, out: &mut Vec<u8>) {
        let RequestTotals { count, request_bytes, response_bytes, request_ns, first_byte_ns, response_ns } =
            self.totals;
        let totals = [count, request_bytes, response_bytes, request_ns, first_byte_ns, response_ns];
        for number in [self.first as u64, self.connections].into_iter().chain(totals) {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.sketches.first_byte.put(out);
        self.sketches.duration.put(out);
    }

    fn of(packed: &mut Packed<'_>) -> Option<Self> {
        let (first, connections) = (usize::try_from(packed.u64()?).ok()?, packed.u64()?);
        let [count, request_bytes, response_bytes] = [packed.u64()?, packed.u64()?, packed.u64()?];
        let [request_ns, first_byte_ns, response_ns] = [packed.u64()?, packed.u64()?, packed.u64()?];
        let totals = RequestTotals { count, request_bytes, response_bytes, request_ns, first_byte_ns, response_ns };
        let sketches = Sketches { first_byte: DurationSketch::of(packed)?, duration: DurationSketch::of(packed)? };
        Some(Self { connections, totals, sketches, first })
    }
}

/// All servers of a capture.
#[derive(Debug, Default, Clone)]
pub struct Servers(BTreeMap<ServerKey, Server>);

impl Servers {
    /// Adds a connection, the one at this place.
    pub fn add(&mut self, key: ServerKey, place: usize, requests: &RequestSummary) {
        if self.0.len() >= MOST_COUNTED && !self.0.contains_key(&key) {
            return;
        }
        let server = self.0.entry(key).or_insert_with(|| Server { first: place, ..Server::default() });
        server.connections += 1;
        server.totals.add(&requests.longest.totals());
        server.sketches.add_all(&requests.longest);
    }

    /// On their way to whoever knows those of other connections, too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for ((address, version, port), server) in &self.0 {
            out.extend_from_slice(address);
            out.push(*version);
            out.extend_from_slice(&port.to_le_bytes());
            server.put(&mut out);
        }
        out
    }

    /// Adds those of a part of all connections; `numbers` are the ones of its connections among all, from 1 on. None if they are damaged.
    pub fn add_packed(&mut self, bytes: &[u8], numbers: &[u32]) -> Option<()> {
        let mut packed = Packed::new(bytes);
        while !packed.is_empty() {
            let key = (packed.bytes()?, packed.bytes().map(|[version]| version)?, packed.u16()?);
            let mut server = Server::of(&mut packed)?;
            server.first = (*numbers.get(server.first)? as usize).checked_sub(1)?;
            self.0.entry(key).or_insert_with(|| Server { first: server.first, ..Server::default() }).add(&server);
        }
        Some(())
    }

    /// As many as one process counts: those that were asked first.
    pub fn keep_first(&mut self) {
        if self.0.len() > MOST_COUNTED {
            let mut firsts: Vec<usize> = self.0.values().map(|server| server.first).collect();
            firsts.sort_unstable();
            let last = firsts[MOST_COUNTED - 1];
            self.0.retain(|_, server| server.first <= last);
        }
    }

    /// Those whose requests took the longest time together, the longest first.
    pub fn into_list(self) -> Vec<(ServerKey, Server)> {
        let mut list: Vec<(ServerKey, Server)> = self.0.into_iter().collect();
        let time_ns = |totals: &RequestTotals| totals.request_ns + totals.first_byte_ns + totals.response_ns;
        list.sort_by_key(|(_, server)| (std::cmp::Reverse(time_ns(&server.totals)), server.first));
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
        let [handshake_ns, tls_ns, server_loop_ns, client_loop_ns] = [Measured::NONE; 4];
        RequestSummary { longest, handshake_ns, tls_ns, server_loop_ns, client_loop_ns, retransmitting_ns: 0 }
    }

    #[test]
    fn the_median_is_that_of_all_requests() {
        let mut servers = Servers::default();
        servers.add(([1; 16], 4, 80), 0, &requests(&[10]));
        servers.add(([1; 16], 4, 80), 1, &requests(&[30; 40]));
        servers.add(([2; 16], 4, 80), 2, &requests(&[5]));
        let mut list = servers.into_list();
        assert_eq!(
            list.iter().map(|(_, server)| (server.first, server.totals.count)).collect::<Vec<_>>(),
            [(0, 41), (2, 1)]
        );
        list[0].1.sketches.first_byte.settle();
        assert_eq!(list[0].1.sketches.first_byte.quantiles([0.5]), Some([30.0]));
    }

    #[test]
    fn servers_of_parts_are_those_of_all() {
        let ask = |servers: &mut Servers, place: usize, number: usize| {
            let times_ns: Vec<u64> = (0..number as u64 % 90).map(|time| 1000 * (time + number as u64)).collect();
            servers.add(([number as u8 % 5; 16], 6, 443), place, &requests(&times_ns));
        };
        let (mut whole, mut parts, mut numbers) =
            (Servers::default(), [Servers::default(), Servers::default()], [vec![], vec![]]);
        for number in 1..200usize {
            ask(&mut whole, number - 1, number);
            let part = number % 7 % 2;
            ask(&mut parts[part], numbers[part].len(), number);
            numbers[part].push(number as u32);
        }
        let mut merged = Servers::default();
        for (part, numbers) in parts.iter().zip(&numbers) {
            merged.add_packed(&part.to_bytes(), numbers).expect("whole");
        }
        merged.keep_first();
        let shown = |servers: Servers| -> Vec<_> {
            let of = |(key, mut server): (ServerKey, Server)| {
                server.sketches.duration.settle();
                let quantiles = server.sketches.duration.quantiles([0.1, 0.5, 0.99]);
                (key, server.connections, server.totals, server.first, quantiles)
            };
            servers.into_list().into_iter().map(of).collect()
        };
        assert_eq!(shown(merged), shown(whole));
        let bytes = parts[0].to_bytes();
        assert_eq!(Servers::default().add_packed(&bytes[..bytes.len() - 1], &numbers[0]), None);
    }

    #[test]
    fn the_list_is_bounded() {
        let mut servers = Servers::default();
        (0..300u16).for_each(|port| servers.add(([1; 16], 4, port), usize::from(port), &requests(&[1])));
        assert_eq!(servers.into_list().len(), MOST_SERVERS);
    }
}

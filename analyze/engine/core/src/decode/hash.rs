//! Hashes of flow endpoints: equal for both directions, cheap, and mixed well in the low bits (buckets) and the high
//! ones (shards).
//!
//! They are not keyed: a capture made for the purpose can hold many flows of one hash. Tables must compare addresses
//! and bound what one bucket costs.

// Odd constants without pattern: fractional digits of the square roots of 2 and 3.
const K1: u64 = 0x6a09_e667_f3bc_c909;

const K2: u64 = 0xbb67_ae85_84ca_a73b;

/// For multiplicative hashing (Knuth, "The Art of Computer Programming", volume 3, section 6.4): 2^64 over the golden ratio.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// 64 x 64 -> 128 bit multiplication, folded: every input bit reaches all output bits.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn flow(a: u64, b: u64) -> u32 {
    // A product is the same whichever factor comes first. No factor is 0: ends of IPv4 flows have 48 bits.
    let mixed = fold(a ^ K1, b ^ K1);
    // The second round parts flows that differ in few bits of one port; measured by the spread test below.
    let mixed = fold(mixed ^ K2, K1);
    (mixed ^ (mixed >> 32)) as u32
}

/// Hash of an IPv4 flow. `addresses` is [`crate::packet::Packet::address_key`], `ports` as in the header.
#[inline(always)]
pub(crate) fn flow_v4(addresses: u64, ports: u32) -> u32 {
    let source = ((addresses >> 32) << 16) | u64::from(ports >> 16);
    let destination = ((addresses & 0xffff_ffff) << 16) | u64::from(ports & 0xffff);
    flow(source, destination)
}

fn half(address: &[u8; 16]) -> u64 {
    let value = u128::from_be_bytes(*address);
    fold((value >> 64) as u64 ^ K1, (value as u64) ^ K2)
}

/// Address key (not symmetric) and flow hash (symmetric) of an IPv6 flow.
pub(crate) fn flow_v6(source: &[u8; 16], destination: &[u8; 16], ports: u32) -> (u64, u32) {
    let (source, destination) = (half(source), half(destination));
    let key = fold(source ^ K1, destination.rotate_left(32) ^ K2);
    let a = source.wrapping_add(u64::from(ports >> 16));
    let b = destination.wrapping_add(u64::from(ports & 0xffff));
    (key, flow(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Greatest load over 4096 buckets divided by the mean load.
    fn skew(hashes: &[u32], bucket: impl Fn(u32) -> u32) -> f64 {
        let mut load = vec![0_u32; 4096];
        for &hash in hashes {
            load[bucket(hash) as usize] += 1;
        }
        f64::from(load.into_iter().max().unwrap_or(0)) * 4096.0 / hashes.len() as f64
    }

    fn assert_spread(hashes: &[u32]) {
        // 16 a bucket on average: a random function stays below 38 in all 4096 but once in thousands of trials.
        assert!(skew(hashes, |hash| hash & 4095) < 2.5, "low bits");
        assert!(skew(hashes, |hash| hash >> 20) < 2.5, "high bits");
        let mut distinct = hashes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > hashes.len() - 10, "{} of {} distinct", distinct.len(), hashes.len());
    }

    #[test]
    fn flows_that_differ_in_the_client_port_spread() {
        let hashes: Vec<u32> = (0..65536).map(|port| flow_v4(0x0a00_0001_0a00_0002, (port << 16) | 443)).collect();
        assert_spread(&hashes);
    }

    #[test]
    fn flows_that_differ_in_the_client_address_spread() {
        let hash = |host: u64| flow_v4(((0x0a00_0000 + host) << 32) | 0x0a00_0002, (40000 << 16) | 80);
        assert_spread(&(0..65536).map(hash).collect::<Vec<u32>>());
        let hash = |host: u64| flow_v4(((0x0a00_0000 + (host << 8)) << 32) | 0xc0a8_0102, (40000 << 16) | 80);
        assert_spread(&(0..65536).map(hash).collect::<Vec<u32>>());
    }

    #[test]
    fn flows_where_both_ports_count_up_spread() {
        let ports = (0..256).flat_map(|a| (0..256).map(move |b| ((1024 + a) << 16) | (5000 + b)));
        assert_spread(&ports.map(|ports| flow_v4(0x7f00_0001_7f00_0001, ports)).collect::<Vec<u32>>());
    }

    #[test]
    fn ipv6_flows_spread_by_port_and_by_address() {
        let address = |host: u16| ((0x2001_0db8_u128 << 96) | u128::from(host)).to_be_bytes();
        let by_port = (0..65536).map(|port| flow_v6(&address(1), &address(2), (port << 16) | 443).1);
        assert_spread(&by_port.collect::<Vec<u32>>());
        let by_address = (0..=65535).map(|host| flow_v6(&address(host), &address(2), (40000 << 16) | 443).1);
        assert_spread(&by_address.collect::<Vec<u32>>());
    }

    #[test]
    fn both_directions_have_one_hash() {
        assert_eq!(flow_v4(0x0102_0304_0506_0708, 0x1234_5678), flow_v4(0x0506_0708_0102_0304, 0x5678_1234));
        let (a, b) = ([1; 16], [2; 16]);
        assert_eq!(flow_v6(&a, &b, 0x1234_5678).1, flow_v6(&b, &a, 0x5678_1234).1);
        assert_ne!(flow_v6(&a, &b, 0x1234_5678).0, flow_v6(&b, &a, 0x5678_1234).0);
    }
}

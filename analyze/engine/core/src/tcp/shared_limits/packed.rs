//! Flows on their way to whoever knows those of all connections: they were found by several processes, each with some of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::tcp::rates::series::{Bin, Series};
use crate::tcp::shared_limits::groups::SharingFlow;
use crate::tcp::stats::packed::{Packed, put_list};

/// Packs them.
pub(crate) fn to_bytes(flows: &[SharingFlow]) -> Vec<u8> {
    let mut out = Vec::new();
    for flow in flows {
        put_flow(&mut out, flow);
    }
    out
}

/// Those that were packed; none if they are damaged.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Vec<SharingFlow>> {
    let mut packed = Packed::new(bytes);
    let mut flows = Vec::new();
    while !packed.is_empty() {
        flows.push(flow(&mut packed)?);
    }
    Some(flows)
}

fn put_flow(out: &mut Vec<u8>, flow: &SharingFlow) {
    out.extend_from_slice(&(flow.place as u64).to_le_bytes());
    out.push(flow.side as u8);
    flow.hosts.iter().for_each(|host| put_host(out, host));
    for number in [flow.bytes, flow.rtt_ns, flow.segment_bytes, flow.overhead] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&[u8::from(flow.beside_sender), u8::from(flow.has_bucket)]);
    out.extend_from_slice(&flow.series.start_ns.to_le_bytes());
    out.extend_from_slice(&flow.series.bin_ns.to_le_bytes());
    put_list(out, &flow.series.bins, put_bin);
    for shares in [&flow.usable, &flow.path_full] {
        put_list(out, shares, |out, share| out.extend_from_slice(&share.to_le_bytes()));
    }
}

fn flow(packed: &mut Packed<'_>) -> Option<SharingFlow> {
    let place = usize::try_from(packed.u64()?).ok()?;
    let [side] = packed.bytes()?;
    let hosts = [host(packed)?, host(packed)?];
    let [bytes, rtt_ns, segment_bytes, overhead] = [packed.f64()?, packed.f64()?, packed.f64()?, packed.f64()?];
    let [beside_sender, has_bucket] = packed.bytes()?.map(|flag| flag != 0);
    let (start_ns, bin_ns) = (packed.i64()?, packed.i64()?);
    let series = Series { start_ns, bin_ns, bins: packed.list(bin)? };
    let shares = |packed: &mut Packed<'_>| packed.list(|packed| packed.bytes().map(f32::from_le_bytes));
    let (usable, path_full) = (shares(packed)?, shares(packed)?);
    Some(SharingFlow {
        place,
        side: usize::from(side & 1),
        hosts,
        series,
        bytes,
        usable,
        path_full,
        rtt_ns,
        segment_bytes,
        overhead,
        beside_sender,
        has_bucket,
    })
}

/// Its version, then 16 bytes.
fn put_host(out: &mut Vec<u8>, host: &IpAddr) {
    let (version, bytes) = match host {
        IpAddr::V4(address) => (4, address.to_ipv6_mapped().octets()),
        IpAddr::V6(address) => (6, address.octets()),
    };
    out.push(version);
    out.extend_from_slice(&bytes);
}

fn host(packed: &mut Packed<'_>) -> Option<IpAddr> {
    let [version] = packed.bytes()?;
    let bytes: [u8; 16] = packed.bytes()?;
    let [.., a, b, c, d] = bytes;
    Some(if version == 4 { Ipv4Addr::from([a, b, c, d]).into() } else { Ipv6Addr::from(bytes).into() })
}

fn put_bin(out: &mut Vec<u8>, bin: &Bin) {
    let Bin { arrived_bytes, acknowledged_bytes, lost_bytes, receiver_loop_us, sender_loop_us } = *bin;
    for number in [arrived_bytes, acknowledged_bytes, lost_bytes, receiver_loop_us, sender_loop_us] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

fn bin(packed: &mut Packed<'_>) -> Option<Bin> {
    Some(Bin {
        arrived_bytes: packed.u32()?,
        acknowledged_bytes: packed.u32()?,
        lost_bytes: packed.u32()?,
        receiver_loop_us: packed.u32()?,
        sender_loop_us: packed.u32()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(place: usize, bins: &[u32]) -> SharingFlow {
        let bins: Vec<Bin> = bins.iter().map(|&arrived_bytes| Bin { arrived_bytes, ..Bin::default() }).collect();
        let hosts = [IpAddr::from([198, 18, 0, 1]), "fd00::2".parse().expect("an address")];
        let shares = bins.iter().map(|bin| 1.0 / (1.0 + bin.arrived_bytes as f32)).collect::<Vec<f32>>();
        SharingFlow {
            place,
            side: place % 2,
            hosts,
            bytes: 1e6 / 3.0,
            usable: shares.clone(),
            path_full: shares,
            rtt_ns: 12e6,
            segment_bytes: 1500.0,
            overhead: 1.04,
            beside_sender: true,
            has_bucket: place.is_multiple_of(3),
            series: Series { start_ns: -5, bin_ns: 10_000_000, bins },
        }
    }

    proptest! {
        #[test]
        fn flows_come_back_and_cut_they_are_none(
            bins in proptest::collection::vec(proptest::collection::vec(0u32..u32::MAX, 0..9), 1..5), cut in 1usize..60) {
            let flows: Vec<SharingFlow> = bins.iter().enumerate().map(|(place, bins)| flow(place, bins)).collect();
            let bytes = to_bytes(&flows);
            let back = from_bytes(&bytes).map(|flows| format!("{flows:?}"));
            prop_assert_eq!(back, Some(format!("{flows:?}")));
            prop_assert!(from_bytes(&bytes[..bytes.len() - cut.min(bytes.len() - 1)]).is_none_or(|some| some.len() < flows.len()));
        }
    }
}

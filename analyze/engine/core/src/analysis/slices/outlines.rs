//! Outlines of a bucket's connections, packed, with the names that each looked up itself (over TCP).

use std::net::IpAddr;

use crate::analysis::outline::{Outline, Tunnelled};
use crate::analysis::tunnels::{put_path, read_path};
use crate::decode::entered::TunnelPath;
use crate::dns::lookups::{Lookup, LookupCounts, Lookups, Transport};
use crate::dns::message::Message;
use crate::tcp::stats::packed::{Packed, put_list};
use crate::tcp::summary::summary::ConnectionSummary;

/// What stands behind an outline.
const IS_OPEN: u8 = 1;
const HAS_TUNNELS: u8 = 2;
const HAS_LOOKUPS: u8 = 4;

/// Writes down the outlines of connections, in order.
pub(crate) fn packed(connections: &[Box<ConnectionSummary>]) -> Vec<u8> {
    let mut out = Vec::new();
    for summary in connections {
        put(&mut out, &Outline::of(summary), summary.lookups.as_deref());
    }
    out
}

fn put(out: &mut Vec<u8>, outline: &Outline, lookups: Option<&Lookups>) {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.push(
        flag(outline.is_open, IS_OPEN)
            | flag(outline.tunnelled.is_some(), HAS_TUNNELS)
            | flag(lookups.is_some(), HAS_LOOKUPS),
    );
    outline.addresses.iter().for_each(|&address| put_address(out, address));
    outline.ports.iter().for_each(|port| out.extend(port.to_le_bytes()));
    out.extend(outline.start_ns.to_le_bytes());
    if let Some(Tunnelled { path, packets, wire_bytes }) = outline.tunnelled.as_deref() {
        put_path(out, &path.list);
        out.extend(packets.to_le_bytes());
        out.extend(wire_bytes.to_le_bytes());
    }
    if let Some(lookups) = lookups {
        let LookupCounts { questions_not_kept, answers_not_kept, unasked, mismatched } = lookups.counts;
        [questions_not_kept, answers_not_kept, unasked, mismatched]
            .iter()
            .for_each(|one| out.extend(one.to_le_bytes()));
        put_list(out, lookups.all(), put_lookup);
    }
}

/// Outlines and lookups of connections that were packed; `numbers` are those that they have among all. None if something is damaged.
pub(crate) fn unpacked(bytes: &[u8], numbers: &[u32]) -> Option<Vec<(Outline, Option<Lookups>)>> {
    let mut packed = Packed::new(bytes);
    let found = numbers.iter().map(|&id| read(&mut packed, id)).collect::<Option<_>>()?;
    packed.is_empty().then_some(found)
}

fn read(packed: &mut Packed<'_>, id: u32) -> Option<(Outline, Option<Lookups>)> {
    let [flags] = packed.bytes()?;
    let addresses = [address(packed)?, address(packed)?];
    let ports = [packed.u16()?, packed.u16()?];
    let start_ns = packed.i64()?;
    let tunnelled = if flags & HAS_TUNNELS > 0 {
        let list = read_path(packed)?;
        Some(Box::new(Tunnelled { path: TunnelPath { list }, packets: packed.u64()?, wire_bytes: packed.u64()? }))
    } else {
        None
    };
    let lookups = if flags & HAS_LOOKUPS > 0 {
        let [questions_not_kept, answers_not_kept] = [packed.u64()?, packed.u64()?];
        let [unasked, mismatched] = [packed.u64()?, packed.u64()?];
        let counts = LookupCounts { questions_not_kept, answers_not_kept, unasked, mismatched };
        Some(Lookups::known(packed.list(read_lookup)?, counts))
    } else {
        None
    };
    Some((Outline { id, addresses, ports, start_ns, is_open: flags & IS_OPEN > 0, tunnelled }, lookups))
}

fn put_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend(address.octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend(address.octets());
        }
    }
}

fn address(packed: &mut Packed<'_>) -> Option<IpAddr> {
    match packed.bytes()? {
        [4] => packed.bytes::<4>().map(IpAddr::from),
        [6] => packed.bytes::<16>().map(IpAddr::from),
        _ => None,
    }
}

fn put_option<T>(out: &mut Vec<u8>, value: Option<T>, put: impl Fn(&mut Vec<u8>, T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

fn option<'a, T>(packed: &mut Packed<'a>, read: impl Fn(&mut Packed<'a>) -> Option<T>) -> Option<Option<T>> {
    match packed.bytes()? {
        [0] => Some(None),
        [1] => read(packed).map(Some),
        _ => None,
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_list(out, text.as_bytes(), |out, &byte| out.push(byte));
}

fn text(packed: &mut Packed<'_>) -> Option<String> {
    String::from_utf8(packed.list(|packed| packed.bytes().map(|[byte]| byte))?).ok()
}

fn put_lookup(out: &mut Vec<u8>, lookup: &Lookup) {
    out.extend(lookup.input.to_le_bytes());
    put_option(out, lookup.asked_ns, |out, time_ns| out.extend(time_ns.to_le_bytes()));
    out.extend(lookup.last_asked_ns.to_le_bytes());
    out.extend(lookup.tries.to_le_bytes());
    put_option(out, lookup.answered_ns, |out, time_ns| out.extend(time_ns.to_le_bytes()));
    put_address(out, lookup.client);
    out.extend(lookup.client_port.to_le_bytes());
    put_address(out, lookup.resolver);
    out.push(u8::from(lookup.transport == Transport::Tcp));
    lookup.frames.iter().for_each(|&frame| put_option(out, frame, |out, frame| out.extend(frame.to_le_bytes())));
    put_option(out, lookup.refused, |out, refused| out.extend(refused));
    out.extend(lookup.fragments_lost.to_le_bytes());
    let Message { id, response, truncated, response_code, name, kind, aliases, addresses } = &lookup.message;
    out.extend(id.to_le_bytes());
    out.extend([u8::from(*response), u8::from(*truncated), *response_code]);
    put_option(out, name.as_deref(), put_text);
    put_option(out, *kind, |out, kind| out.extend(kind.to_le_bytes()));
    put_list(out, aliases, |out, alias| put_text(out, alias));
    put_list(out, addresses, |out, &address| put_address(out, address));
}

fn read_lookup(packed: &mut Packed<'_>) -> Option<Lookup> {
    Some(Lookup {
        input: packed.u16()?,
        asked_ns: option(packed, Packed::i64)?,
        last_asked_ns: packed.i64()?,
        tries: packed.u32()?,
        answered_ns: option(packed, Packed::i64)?,
        client: address(packed)?,
        client_port: packed.u16()?,
        resolver: address(packed)?,
        transport: if packed.bytes()? == [0] { Transport::Udp } else { Transport::Tcp },
        frames: [option(packed, Packed::u32)?, option(packed, Packed::u32)?],
        refused: option(packed, Packed::bytes)?,
        fragments_lost: packed.u32()?,
        message: Message {
            id: packed.u16()?,
            response: packed.bytes()? == [1],
            truncated: packed.bytes()? == [1],
            response_code: packed.bytes().map(|[code]| code)?,
            name: option(packed, text)?,
            kind: option(packed, Packed::u16)?,
            aliases: packed.list(text)?,
            addresses: packed.list(address)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::entered::{KINDS, Tunnel};

    fn lookup(number: u16) -> Lookup {
        let v6: IpAddr = [number as u8; 16].into();
        let is_even = number.is_multiple_of(2);
        Lookup {
            input: number,
            asked_ns: is_even.then_some(7),
            last_asked_ns: -3,
            tries: 2,
            answered_ns: (!is_even).then_some(i64::MAX),
            client: v6,
            client_port: 40_000,
            resolver: [192, 0, 2, 53].into(),
            transport: if is_even { Transport::Udp } else { Transport::Tcp },
            frames: [is_even.then_some(9), Some(10)],
            refused: is_even.then_some([3, 1]),
            fragments_lost: 4,
            message: Message {
                id: number,
                response: !is_even,
                truncated: is_even,
                response_code: 3,
                name: is_even.then(|| "a.example".to_owned()),
                kind: Some(28),
                aliases: vec!["b.example".to_owned(), String::new()],
                addresses: vec![v6, [192, 0, 2, 1].into()],
            },
        }
    }

    #[test]
    fn outlines_come_back_and_a_part_of_them_does_not() {
        let addresses: [IpAddr; 2] = [[192, 0, 2, 1].into(), [7; 16].into()];
        let outer: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        let path = TunnelPath { list: vec![Tunnel { kind: KINDS[0], outer, id: Some(7) }] };
        let plain = Outline { id: 4, addresses, ports: [40_000, 443], start_ns: -9, is_open: true, tunnelled: None };
        let tunnelled = Some(Box::new(Tunnelled { path, packets: 5, wire_bytes: 700 }));
        let other = Outline { id: 2, is_open: false, tunnelled, ..plain.clone() };
        let counts = LookupCounts { questions_not_kept: 1, answers_not_kept: 2, unasked: 3, mismatched: 4 };
        let lookups = Lookups::known(vec![lookup(1), lookup(2)], counts);
        let mut bytes = Vec::new();
        put(&mut bytes, &plain, Some(&lookups));
        put(&mut bytes, &other, None);
        let found = unpacked(&bytes, &[4, 2]).expect("whole");
        assert_eq!([&found[0].0, &found[1].0], [&plain, &other]);
        let known = found[0].1.as_ref().expect("its lookups");
        assert_eq!((known.all(), known.counts), (lookups.all(), counts));
        assert!(found[1].1.is_none());
        assert!((0..bytes.len()).all(|length| unpacked(&bytes[..length], &[4, 2]).is_none()));
        assert!(unpacked(&bytes, &[4]).is_none());
    }
}

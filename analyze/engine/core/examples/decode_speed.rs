//! Nanoseconds per packet of decoding alone, on synthetic chunks: `cargo run --release --example decode_speed`.
//!
//! Each row is the best of several rounds over a chunk that stays in memory, so it measures computing and not the disk.

use std::hint::black_box;
use std::time::Instant;

use vmtrace_core::decode::{Batch, decode_into};
use vmtrace_core::link_type;
use vmtrace_core::packet::Packet;
use vmtrace_core::read::{Chunk, Record};

const FRAMES: usize = 16_384;
const ROUNDS: usize = 15;

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12], &kind.to_be_bytes()[..], payload].concat()
}

fn vlan(frame: &[u8]) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    [addresses, &[0x81, 0, 0, 7], rest].concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 0, length[0], length[1], 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    [&header, payload].concat()
}

fn ipv6(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    [&[0x60, 0, 0, 0, length[0], length[1], 6, 64][..], &[0x20; 32], payload].concat()
}

fn tcp(port: u16, payload: &[u8]) -> Vec<u8> {
    let port = port.to_be_bytes();
    let fixed = [port[0], port[1], 1, 187, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0];
    [&fixed[..], &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2], payload].concat()
}

/// A chunk of `FRAMES` frames cut at `snap_length`, built by `frame` from a running number.
fn chunk(link: u16, snap_length: usize, frame: impl Fn(u16) -> Vec<u8>) -> Chunk {
    let mut chunk = Chunk::default();
    for number in 0..FRAMES as u32 {
        let frame = frame(number as u16);
        let captured = frame.get(..snap_length).unwrap_or(&frame);
        // As far apart as in a file, where a record header stands between.
        chunk.bytes.extend_from_slice(&[0; 16]);
        chunk.records.push(Record {
            time_ns: i64::from(number),
            offset: chunk.bytes.len() as u32,
            captured_length: captured.len() as u32,
            original_length: frame.len() as u32,
            frame: number + 1,
            link_type: link,
            input: 0,
            interface: 0,
            fcs_length: 0,
        });
        chunk.bytes.extend_from_slice(captured);
    }
    chunk
}

fn best_ns(mut round: impl FnMut()) -> f64 {
    let time = |round: &mut dyn FnMut()| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / FRAMES as f64
    };
    (0..ROUNDS).map(|_| time(&mut round)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let payload = [0; 1448];
    let rows = [
        ("Ethernet, IPv4, snap length 96", chunk(1, 96, |n| ethernet(0x0800, &ipv4(6, &tcp(n, &payload))))),
        ("Ethernet, IPv4, whole frames", chunk(1, 65535, |n| ethernet(0x0800, &ipv4(6, &tcp(n, &payload))))),
        ("Ethernet, VLAN, IPv4", chunk(1, 96, |n| vlan(&ethernet(0x0800, &ipv4(6, &tcp(n, &payload)))))),
        ("Ethernet, IPv6", chunk(1, 96, |n| ethernet(0x86dd, &ipv6(&tcp(n, &payload))))),
        ("Linux SLL, IPv4", {
            let cooked = |n| [&[0; 14][..], &[8, 0], &ipv4(6, &tcp(n, &payload))].concat();
            chunk(link_type::LINUX_SLL, 96, cooked)
        }),
        ("VXLAN, IPv4", {
            let udp = |inner: &[u8]| [&[0, 1, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0], inner].concat();
            chunk(1, 160, move |n| ethernet(0x0800, &ipv4(17, &udp(&ethernet(0x0800, &ipv4(6, &tcp(n, &payload)))))))
        }),
    ];
    println!("{:34} {:>12} {:>12}", "ns per packet", "into a batch", "one by one");
    for (name, mut chunk) in rows {
        let mut batch = Batch::default();
        let batched = best_ns(|| {
            batch.clear();
            batch.decode(black_box(&mut chunk));
            black_box(batch.packets());
        });
        let mut packet = Packet::default();
        let one_by_one = best_ns(|| {
            let Chunk { bytes, records, .. } = &mut chunk;
            for record in records.iter() {
                black_box(decode_into(bytes, record, &mut packet));
            }
        });
        println!("{name:34} {batched:12.1} {one_by_one:12.1}");
    }
}

//! A soup's capture as a file: pcap with nanoseconds, Ethernet, IP and TCP, the bytes that each segment has.

use super::packets::{Capture, Path, Segment, addresses, checksum, options_of};

/// The file; `snap_length` cuts its frames.
pub fn pcap(capture: &Capture, snap_length: usize) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 262_144, 1_u32] {
        file.extend(word.to_le_bytes());
    }
    for (path, segment) in &capture.segments {
        let frame = frame(*path, segment);
        let whole = frame.len() as u32 + segment.payload_length - segment.payload.len() as u32;
        let cut = frame.len().min(snap_length);
        let time_ns = segment.time_ns.max(0) as u64;
        for word in [(time_ns / 1_000_000_000) as u32, (time_ns % 1_000_000_000) as u32, cut as u32, whole] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&frame[..cut]);
    }
    file
}

fn frame(path: Path, segment: &Segment) -> Vec<u8> {
    let options = options_of(segment);
    let tcp_bytes = 20 + options.len() as u32 + segment.payload_length;
    let mut frame = vec![2; 12];
    frame.extend(if path.ipv6 { [0x86, 0xdd] } else { [8, 0] });
    frame.extend(if path.ipv6 { ipv6_header(segment, tcp_bytes) } else { ipv4_header(segment, tcp_bytes) });
    frame.extend(addresses(path));
    for port in path.ports {
        frame.extend(port.to_be_bytes());
    }
    frame.extend(segment.sequence.to_be_bytes());
    frame.extend(segment.acknowledgement.to_be_bytes());
    frame.extend(((5 + options.len() as u16 / 4) << 12 | segment.flags & 0x1ff).to_be_bytes());
    frame.extend(segment.window.to_be_bytes());
    frame.extend(checksum(segment).to_be_bytes());
    frame.extend([0, 0]);
    frame.extend(options);
    frame.extend(&segment.payload);
    frame
}

/// Without addresses. What is longer than the field, as offloads leave it, has 0 there.
fn ipv4_header(segment: &Segment, tcp_bytes: u32) -> Vec<u8> {
    let [total, id] = [u16::try_from(20 + tcp_bytes).unwrap_or(0), segment.ip_id].map(u16::to_be_bytes);
    vec![0x45, 0, total[0], total[1], id[0], id[1], 0x40, 0, segment.ttl, 6, 0, 0]
}

fn ipv6_header(segment: &Segment, tcp_bytes: u32) -> Vec<u8> {
    let length = u16::try_from(tcp_bytes).unwrap_or(0).to_be_bytes();
    vec![0x60, 0, 0, 0, length[0], length[1], 6, segment.ttl]
}

//! Where datagrams have numbers in clear text, and what of the sender's clock stands with them.

use crate::quic::joined::{Joined, LARGEST_IN_A_FRAME};

/// Bytes that a datagram with a number and more behind it has.
const LEAST_BYTES: usize = 32;

/// A kind of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// RTP and SRTP: 16 bits for each source (RFC 3550 section 5.1).
    Rtp,
    /// `iperf3 -u`: seconds, microseconds, a counter of 32 or 64 bits.
    Iperf3,
    /// iperf 2: a counter, seconds, microseconds.
    Iperf2,
    /// WireGuard: 64 bits, little-endian, for each session.
    WireGuard,
    /// ESP: 32 bits for each security association (RFC 4303 section 2.2).
    Esp,
}

/// The number of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbered {
    /// What it is counted in: a source, a session, an association.
    pub stream: u32,
    /// The number.
    pub number: u64,
    /// Bits that it has.
    pub bits: u8,
    /// The sender's clock, nanoseconds.
    pub sent_ns: Option<i64>,
    /// RTP's timestamp, in a unit that depends on the payload type.
    pub media: Option<(u32, u8)>,
}

impl Numbered {
    fn plain(stream: u32, number: u64, bits: u8) -> Self {
        Self { stream, number, bits, sent_ns: None, media: None }
    }

    /// All bits of the number.
    pub fn mask(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.bits).clamp(1, 64))
    }
}

impl Scheme {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::WireGuard, Self::Esp, Self::Rtp, Self::Iperf3, Self::Iperf2];

    /// What a captured payload holds: several datagrams if at equal distances the next numbers follow.
    pub fn joined(self, captured: &[u8], length: u32) -> Joined {
        let step = match self {
            // The lengths of its messages are multiples of it.
            Self::WireGuard => 16,
            _ if length as usize > LARGEST_IN_A_FRAME => 1,
            _ => return Joined::One,
        };
        let Some(first) = self.read(captured, length) else { return Joined::One };
        let is_next = |at: usize, ahead: u64| {
            let next = captured.get(at..).and_then(|rest| self.read(rest, length.saturating_sub(at as u32)));
            next.is_some_and(|next| {
                next.stream == first.stream && next.number == first.number.wrapping_add(ahead) & first.mask()
            })
        };
        let most = captured.len().min(LARGEST_IN_A_FRAME + 1);
        let fits = |size: &usize| {
            let further = (2..).map(|ahead| (size * ahead, ahead as u64));
            captured.get(*size) == captured.first()
                && is_next(*size, 1)
                && further
                    .take_while(|(at, _)| at + LEAST_BYTES <= captured.len())
                    .all(|(at, ahead)| is_next(at, ahead))
        };
        let size = (LEAST_BYTES..most).step_by(step).find(fits);
        size.map_or(Joined::One, |size| Joined::Of(size as u32))
    }

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rtp => "rtp_sequence_number",
            Self::Iperf3 => "iperf3_counter",
            Self::Iperf2 => "iperf2_counter",
            Self::WireGuard => "wireguard_counter",
            Self::Esp => "esp_sequence_number",
        }
    }

    /// The number of the datagram with this payload, if it has one.
    pub fn read(self, data: &[u8], length: u32) -> Option<Numbered> {
        let word = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        match self {
            Self::Rtp => {
                let &[first, kind, s0, s1, ..] = data.first_chunk::<4>()?;
                let is_media = first >> 6 == 2 && !(72..=79).contains(&(kind & 0x7f)) && length >= 12;
                let number = u64::from(u16::from_be_bytes([s0, s1]));
                let media = Some((word(4)?, kind & 0x7f));
                is_media.then_some(Numbered { media, ..Numbered::plain(word(8)?, number, 16) })
            }
            Self::Iperf3 => {
                let sent_ns = clock(word(0)?, word(4)?)?;
                // With counters of 64 bits the upper half comes first, and stays 0 for very long.
                let (number, bits) = match (word(8)?, word(12)) {
                    (0, Some(low)) => (u64::from(low), 32),
                    (number, _) => (u64::from(number), 32),
                };
                // The reply to the client's first datagram is shorter.
                (length >= 16 && number > 0)
                    .then_some(Numbered { sent_ns: Some(sent_ns), ..Numbered::plain(0, number, bits) })
            }
            Self::Iperf2 => {
                let sent_ns = clock(word(4)?, word(8)?)?;
                // The last datagrams of a test have a negative number.
                let number = word(0).filter(|number| *number < 1 << 31)?;
                (length >= 12)
                    .then_some(Numbered { sent_ns: Some(sent_ns), ..Numbered::plain(0, u64::from(number), 32) })
            }
            Self::WireGuard => {
                let &[4, 0, 0, 0, r0, r1, r2, r3, ref counter @ ..] = data.first_chunk::<16>()? else { return None };
                let number = u64::from_le_bytes(*counter.first_chunk()?);
                let stream = u32::from_le_bytes([r0, r1, r2, r3]);
                (length >= 32 && length.is_multiple_of(16)).then_some(Numbered::plain(stream, number, 64))
            }
            Self::Esp => {
                let (stream, number) = (word(0)?, word(4)?);
                // 0 marks IKE (RFC 3948), small ones are reserved.
                (stream > 255 && length > 8).then_some(Numbered::plain(stream, u64::from(number), 32))
            }
        }
    }
}

fn clock(seconds: u32, microseconds: u32) -> Option<i64> {
    (microseconds < 1_000_000 && seconds > 0)
        .then_some(i64::from(seconds) * 1_000_000_000 + i64::from(microseconds) * 1000)
}

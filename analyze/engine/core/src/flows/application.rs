//! What a datagram flow carries, recognised by what its datagrams hold; ports alone decide nothing but between equals.
//!
//! Rule: docs/methods.md, "Datagram flows".

use crate::decode::other::Udp;
use crate::flows::layouts::{Numbered, Scheme};
use crate::quic::state::QuicState;

/// Datagrams of a flow that are looked at before it is left without a name.
const MOST_TRIES: u8 = 64;

/// So many in a row, of one direction, whose numbers go on make a number of what may be one.
const FEWEST_IN_ROW: usize = 3;

/// Directions and numberings that are followed until then.
const MOST_ROWS: usize = 6;

/// Numbers of neighbours differ by no more, as long as it is open whether they are numbers.
const LARGEST_STEP: u64 = 1000;

/// A sender's clock and the capture's go on alike, but for delays of this.
const MOST_APART_NS: i64 = 500_000_000;

macro_rules! applications {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// What a flow carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Application { $($variant),* }

        impl Application {
            /// Names by number.
            pub const NAMES: &[&str] = &[$($name),*];
        }
    };
}

applications! {
    Dns "dns", Mdns "mdns", Llmnr "llmnr", Quic "quic", Rtp "rtp", Rtcp "rtcp", Iperf3 "iperf3", Iperf2 "iperf2",
    WireGuard "wireguard", Dtls "dtls", Stun "stun", Ntp "ntp", Esp "esp", Ike "ike", Dhcp "dhcp", Vxlan "vxlan",
    Geneve "geneve",
}

impl Application {
    /// As it stands in results.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or_default()
    }

    /// What numbers its datagrams.
    pub fn scheme(self) -> Option<Scheme> {
        Some(match self {
            Self::Rtp => Scheme::Rtp,
            Self::Iperf3 => Scheme::Iperf3,
            Self::Iperf2 => Scheme::Iperf2,
            Self::WireGuard => Scheme::WireGuard,
            Self::Esp => Scheme::Esp,
            _ => return None,
        })
    }
}

/// What one datagram says.
enum Hint {
    Sure(Application),
    /// If the numbers of the next ones go on.
    Perhaps(Application, Numbered),
}

/// How far a flow is recognised.
#[derive(Debug, Clone, Default)]
pub struct Recognition {
    found: Option<Application>,
    tries: u8,
    rows: Vec<DatagramRow>,
}

/// Datagrams of one direction in a row whose numbers go on.
#[derive(Debug, Clone)]
struct DatagramRow {
    side: usize,
    application: Application,
    list: Vec<PassedDatagram>,
}

/// The number of a datagram, when it passed, and its bytes on the wire.
pub type PassedDatagram = (Numbered, i64, u32);

impl Recognition {
    /// What was found.
    pub fn found(&self) -> Option<Application> {
        self.found
    }

    /// More datagrams may say more.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.tries < MOST_TRIES
    }

    /// Looks at a datagram. What is recognised by numbers gives those that passed before this one, with their sides.
    pub fn look(&mut self, udp: &Udp<'_>, side: usize, time_ns: i64, wire_bytes: u32) -> Vec<(usize, PassedDatagram)> {
        self.tries += 1;
        let before = match hint(udp) {
            Some(Hint::Sure(application)) => {
                self.settle(application);
                Vec::new()
            }
            Some(Hint::Perhaps(application, numbered)) => self.take(application, side, (numbered, time_ns, wire_bytes)),
            None => Vec::new(),
        };
        if !self.is_open() {
            self.rows = Vec::new();
        }
        before
    }

    fn settle(&mut self, application: Application) {
        // Media follows on the flow that STUN, DTLS or RTCP opened.
        let opens_media = |one| matches!(one, Application::Stun | Application::Dtls | Application::Rtcp);
        if self.found.is_none_or(|found| opens_media(found) && application == Application::Rtp) {
            self.found = Some(application);
        }
        if !self.found.is_some_and(opens_media) {
            self.tries = MOST_TRIES;
        }
    }

    fn take(&mut self, application: Application, side: usize, passed: PassedDatagram) -> Vec<(usize, PassedDatagram)> {
        let is_same = |row: &DatagramRow| row.list.first().is_some_and(|(first, ..)| first.stream == passed.0.stream);
        let known = self.rows.iter_mut().find(|row| row.side == side && row.application == application && is_same(row));
        let Some(row) = known else {
            if self.rows.len() >= MOST_ROWS {
                self.rows.remove(0);
            }
            self.rows.push(DatagramRow { side, application, list: vec![passed] });
            return Vec::new();
        };
        if !goes_on(row.list.last(), &passed) {
            row.list.clear();
        }
        row.list.push(passed);
        if row.list.len() < FEWEST_IN_ROW {
            return Vec::new();
        }
        row.list.pop();
        self.settle(application);
        let rows = std::mem::take(&mut self.rows).into_iter().filter(|row| row.application == application);
        rows.flat_map(|row| row.list.into_iter().map(move |one| (row.side, one))).collect()
    }
}

fn goes_on(last: Option<&PassedDatagram>, (numbered, time_ns, _): &PassedDatagram) -> bool {
    let Some((last, last_ns, _)) = last else { return false };
    let step = numbered.number.wrapping_sub(last.number) & numbered.mask();
    let on_time = numbered.sent_ns.zip(last.sent_ns).is_none_or(|(sent_ns, last_sent_ns)| {
        let apart_ns = sent_ns.saturating_sub(last_sent_ns).saturating_sub(time_ns.saturating_sub(*last_ns));
        apart_ns.saturating_abs() < MOST_APART_NS
    });
    (1..=LARGEST_STEP).contains(&step) && last.stream == numbered.stream && on_time
}

/// What a datagram of these ports says by itself, the surest first.
fn hint(udp: &Udp<'_>) -> Option<Hint> {
    let (data, has_port) = (udp.data, |port: u16| udp.ports.contains(&port));
    let sure = |is: bool, application| is.then_some(Hint::Sure(application));
    sure(has_port(53) && is_dns(data), Application::Dns)
        .or_else(|| sure(has_port(5353) && is_dns(data), Application::Mdns))
        .or_else(|| sure(has_port(5355) && is_dns(data), Application::Llmnr))
        .or_else(|| sure(matches!(udp.ports[1], 4789 | 4790 | 8472), Application::Vxlan))
        .or_else(|| sure(udp.ports[1] == 6081, Application::Geneve))
        .or_else(|| sure(is_stun(udp), Application::Stun))
        .or_else(|| sure(QuicState::begins(data), Application::Quic))
        .or_else(|| sure(is_dtls(udp), Application::Dtls))
        .or_else(|| sure(has_port(123) && is_ntp(udp), Application::Ntp))
        .or_else(|| sure(is_dhcp(data), Application::Dhcp))
        .or_else(|| sure(is_ike(udp), Application::Ike))
        .or_else(|| sure(is_wireguard_handshake(udp), Application::WireGuard))
        .or_else(|| sure(is_rtcp(udp), Application::Rtcp))
        .or_else(|| numbered_hint(udp))
}

fn numbered_hint(udp: &Udp<'_>) -> Option<Hint> {
    let order = [Application::Esp, Application::WireGuard, Application::Rtp, Application::Iperf3, Application::Iperf2];
    order.into_iter().find_map(|application| {
        // Anything may be ESP: only its port makes it so (RFC 3948).
        let may_be = application != Application::Esp || udp.ports.contains(&4500);
        let numbered = application.scheme().filter(|_| may_be)?.read(udp.data, udp.length)?;
        Some(Hint::Perhaps(application, numbered))
    })
}

fn be16(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn be32(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Header of a query or response with sensible counts (RFC 1035 section 4.1.1).
fn is_dns(data: &[u8]) -> bool {
    let Some((flags, questions)) = be16(data, 2).zip(be16(data, 4)) else { return false };
    flags & 0x0040 == 0 && questions <= 64 && data.len() >= 12
}

/// RFC 8489 section 5.
fn is_stun(udp: &Udp<'_>) -> bool {
    let length = be16(udp.data, 2).filter(|length| length.is_multiple_of(4));
    be32(udp.data, 4) == Some(0x2112_a442)
        && udp.data.first().is_some_and(|first| *first < 64)
        && length.is_some_and(|length| u32::from(length) + 20 == udp.length)
}

/// The first record of a datagram (RFC 6347 section 4.1, RFC 9147 section 4).
fn is_dtls(udp: &Udp<'_>) -> bool {
    matches!(udp.data, [20..=26, 0xfe, 0xfc | 0xfd | 0xff, ..])
        && be16(udp.data, 11).is_some_and(|length| u32::from(length) + 13 <= udp.length)
}

/// RFC 5905 section 7.3: version 1 to 4, a mode, at least the header.
fn is_ntp(udp: &Udp<'_>) -> bool {
    let Some(first) = udp.data.first() else { return false };
    (1..=4).contains(&(first >> 3 & 7)) && first & 7 != 0 && udp.length >= 48
}

/// BOOTP with the magic cookie (RFC 2131 section 3).
fn is_dhcp(data: &[u8]) -> bool {
    matches!(data.first(), Some(1 | 2)) && be32(data, 236) == Some(0x6382_5363)
}

/// IKE header (RFC 7296 section 3.1), on port 4500 behind four zero bytes (RFC 3948 section 2.2).
fn is_ike(udp: &Udp<'_>) -> bool {
    let marker = if udp.ports.contains(&4500) { 4 } else { 0 };
    let is_marked = marker == 0 || be32(udp.data, 0) == Some(0);
    let version = udp.data.get(marker + 17);
    is_marked
        && matches!(version, Some(0x10 | 0x20))
        && be32(udp.data, marker + 24).is_some_and(|length| u64::from(length) + marker as u64 == u64::from(udp.length))
}

/// Messages of fixed length (WireGuard whitepaper, section 5.4).
fn is_wireguard_handshake(udp: &Udp<'_>) -> bool {
    let length = match udp.data {
        [1, 0, 0, 0, ..] => 148,
        [2, 0, 0, 0, ..] => 92,
        [3, 0, 0, 0, ..] => 64,
        _ => return false,
    };
    udp.length == length
}

/// Sender or receiver report, or source description, first in the datagram (RFC 3550 section 6.4).
fn is_rtcp(udp: &Udp<'_>) -> bool {
    let Some(length) = be16(udp.data, 2) else { return false };
    matches!(udp.data, [0x80..=0xbf, 200..=207, ..]) && (u32::from(length) + 1) * 4 <= udp.length
}

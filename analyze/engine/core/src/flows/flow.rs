//! One datagram flow: both directions between two endpoints, or two addresses where the protocol has no ports.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;

use crate::decode::entered::TunnelPath;
use crate::decode::numbers::protocol;
use crate::decode::other::{Other, OtherKind, Udp, address};
use crate::flows::application::{Application, Recognition};
use crate::flows::exchanges::{ExchangePart, Exchanges};
use crate::flows::numbers::{NumberTotals, Numbers};
use crate::flows::protocols::{Amount, ip_name};
use crate::quic::joined::Joined;
use crate::quic::state::QuicState;
use crate::read::record::Record;
use crate::tcp::summary::ending::IcmpErrors;

/// Ports below this are servers' (RFC 6335 section 6), where the other one is not.
const FIRST_CLIENT_PORT: u16 = 1024;

/// Datagrams that were captured as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Joins {
    /// Frames that hold several.
    pub frames: u64,
    /// Datagrams in them.
    pub datagrams: u64,
    /// Frames of which nobody can say how many they hold.
    pub unknown_frames: u64,
}

/// One direction.
#[derive(Debug, Clone, Default)]
pub struct FlowLane {
    /// Packets.
    pub packets: u64,
    /// Bytes behind the headers of IP and UDP.
    pub payload_bytes: u64,
    /// Bytes of the frames.
    pub wire_bytes: u64,
    /// When the first and the last one passed.
    pub between_ns: [i64; 2],
    /// Of frames that hold several datagrams.
    pub joins: Option<Box<Joins>>,
    /// Where they are numbered.
    pub numbers: Option<Box<Numbers>>,
    /// Requests of this side, and their responses.
    pub exchanges: Option<Box<Exchanges>>,
}

impl FlowLane {
    /// Counts a packet.
    #[inline]
    pub(super) fn count(&mut self, time_ns: i64, payload_bytes: u32, wire_bytes: u64) {
        if self.packets == 0 {
            self.between_ns = [time_ns; 2];
        }
        self.packets += 1;
        self.payload_bytes += u64::from(payload_bytes);
        self.wire_bytes += wire_bytes;
        self.between_ns[1] = self.between_ns[1].max(time_ns);
    }

    /// Notes what a frame holds.
    pub(super) fn note_joined(&mut self, joined: Joined, length: u32) {
        match joined {
            Joined::One => {}
            Joined::Of(size) => {
                let joins = self.joins.get_or_insert_default();
                joins.frames += 1;
                joins.datagrams += u64::from(length.div_ceil(size.max(1)));
            }
            Joined::Unknown => self.joins.get_or_insert_default().unknown_frames += 1,
        }
    }

    /// Datagrams in its packets; none where that is not known.
    pub fn datagrams(&self) -> Option<u64> {
        let joins = self.joins.as_deref().copied().unwrap_or_default();
        (joins.unknown_frames == 0).then(|| self.packets - joins.frames + joins.datagrams)
    }

    /// Bits of frames a second between the first and the last packet; none of fewer than two, or of no time.
    pub fn rate_bps(&self) -> Option<f64> {
        let [first_ns, last_ns] = self.between_ns;
        let span_ns = last_ns.saturating_sub(first_ns);
        (self.packets > 1 && span_ns > 0).then(|| self.wire_bytes as f64 * 8e9 / span_ns as f64)
    }

    /// Sums over what numbers it.
    pub fn totals(&self) -> Option<NumberTotals> {
        self.numbers.as_ref().map(|numbers| numbers.totals())
    }
}

/// Endpoints in the order of their value, and the protocol: the same for both directions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FiveTuple {
    ends: [u128; 2],
    ports: [u16; 2],
    protocol: u8,
    version: u8,
    /// The source stands second. Says nothing of the flow.
    pub(super) is_turned: bool,
}

impl PartialEq for FiveTuple {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.rest() == other.rest()
    }
}

impl Eq for FiveTuple {}

impl Hash for FiveTuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Without the length that an array's hash begins with.
        self.ends.iter().for_each(|&end| state.write_u128(end));
        state.write_u64(self.rest());
    }
}

impl FiveTuple {
    /// Source before destination. Of echoes the first port is the identifier, whoever sends.
    pub(super) fn of(mut ends: [u128; 2], mut ports: [u16; 2], version: u8, protocol: u8) -> Self {
        let is_echo = matches!(protocol, protocol::ICMP | protocol::ICMP_V6);
        let is_turned = if is_echo { ends[0] > ends[1] } else { (ends[0], ports[0]) > (ends[1], ports[1]) };
        if is_turned {
            ends.reverse();
        }
        if is_turned && !is_echo {
            ports.reverse();
        }
        Self { ends, ports, protocol, version, is_turned }
    }

    /// Of a packet that is no TCP; none of what is no flow's (errors, neighbours, groups).
    pub(crate) fn of_packet(bytes: &[u8], other: &Other, udp: Option<&Udp>) -> Option<Self> {
        let OtherKind::Ip(number) = other.kind else { return None };
        let payload = other.payload(bytes);
        let pair = |at: usize| payload.get(at..).and_then(<[u8]>::first_chunk).map(|pair| u16::from_be_bytes(*pair));
        let ports = match number {
            protocol::UDP => udp.map(|udp| udp.ports),
            protocol::UDP_LITE | protocol::SCTP => pair(0).zip(pair(2)).map(|(from, to)| [from, to]),
            protocol::ICMP if matches!(payload.first(), Some(0 | 8)) => pair(4).map(|identifier| [identifier, 0]),
            protocol::ICMP_V6 if matches!(payload.first(), Some(128 | 129)) => {
                pair(4).map(|identifier| [identifier, 0])
            }
            protocol::ICMP | protocol::ICMP_V6 | protocol::IGMP => None,
            _ => Some([0; 2]),
        };
        let (ports, (ends, version)) = ports.zip(other.ends(bytes))?;
        Some(Self::of(ends, ports, version, number))
    }

    fn rest(&self) -> u64 {
        let [low, high] = self.ports.map(u64::from);
        low << 48 | high << 32 | u64::from(self.protocol) << 8 | u64::from(self.version)
    }
}

/// See the module. Index 0 is the sender of the first packet.
#[derive(Debug, Clone)]
pub struct Flow {
    ends: [u128; 2],
    version: u8,
    pub(super) is_turned: bool,
    /// Its number, from 1, in the order of first packets; what is forgotten keeps its own.
    pub number: u32,
    /// IP protocol.
    pub protocol: u8,
    /// Ports; of echoes the identifier and 0; else 0.
    pub ports: [u16; 2],
    /// Its first frame.
    pub first_frame: u32,
    /// Number of the input file of that.
    pub input: u16,
    pub(super) recognition: Recognition,
    /// Both directions.
    pub lanes: [FlowLane; 2],
    /// ICMP errors that quote it.
    pub icmp_errors: Option<Box<IcmpErrors>>,
    /// Of a QUIC flow, what it shows.
    pub quic: Option<Box<QuicState>>,
    /// The tunnels that its first packet was found in.
    pub tunnels: Option<Box<TunnelPath>>,
}

impl Flow {
    /// Begins with a packet of this key, found in these tunnels.
    pub(super) fn new(number: u32, key: FiveTuple, record: &Record, tunnels: Option<Box<TunnelPath>>) -> Self {
        let (mut ends, mut ports) = (key.ends, key.ports);
        if key.is_turned {
            ends.reverse();
        }
        if key.is_turned && !matches!(key.protocol, protocol::ICMP | protocol::ICMP_V6) {
            ports.reverse();
        }
        Self {
            ends,
            version: key.version,
            is_turned: key.is_turned,
            number,
            protocol: key.protocol,
            ports,
            first_frame: record.frame,
            input: record.input,
            recognition: Recognition::default(),
            lanes: Default::default(),
            icmp_errors: None,
            quic: None,
            tunnels,
        }
    }

    /// A datagram of a side that carries what exchanges are made of.
    pub(super) fn exchange(&mut self, side: usize, udp: &Udp<'_>, time_ns: i64) {
        let part = match self.application() {
            Some(Application::Ntp) => ExchangePart::of_ntp(udp),
            Some(Application::Stun | Application::Dtls | Application::Rtp | Application::Rtcp) => {
                ExchangePart::of_stun(udp)
            }
            _ => None,
        };
        let (asks, number, is_request) = match part {
            Some(ExchangePart::Request(number)) => (side, number, true),
            Some(ExchangePart::Response(number)) => (1 - side, number, false),
            None => return,
        };
        let Some(FlowLane { exchanges, .. }) = self.lanes.get_mut(asks) else { return };
        if is_request {
            exchanges.get_or_insert_default().request(number, time_ns);
        } else if let Some(exchanges) = exchanges {
            exchanges.response(number, time_ns);
        }
    }

    /// Address of a side.
    pub fn address(&self, side: usize) -> IpAddr {
        address(self.ends[side & 1], self.version)
    }

    /// What it carries, as far as that is recognised.
    pub fn application(&self) -> Option<Application> {
        self.recognition.found()
    }

    /// Name of its protocol.
    pub fn protocol_name(&self) -> std::borrow::Cow<'static, str> {
        match self.protocol {
            protocol::UDP if self.quic.is_some() => "quic".into(),
            _ if self.is_echo() => "icmp_echo".into(),
            other => ip_name(other),
        }
    }

    /// The side that is the client: who spoke first, unless the ports say that a server did.
    pub fn client(&self) -> usize {
        let [first, second] = self.ports;
        let is_server = self.protocol == protocol::UDP && first < FIRST_CLIENT_PORT && second >= FIRST_CLIENT_PORT;
        usize::from(is_server)
    }

    /// The tunnels that it was found in, with their outer addresses in the direction of its client.
    pub fn tunnels_from_client(&self) -> Option<TunnelPath> {
        let mut path = self.tunnels.as_deref()?.clone();
        if self.client() > 0 {
            path.list.iter_mut().for_each(|tunnel| tunnel.outer.reverse());
        }
        Some(path)
    }

    /// Echo requests and replies.
    pub fn is_echo(&self) -> bool {
        matches!(self.protocol, protocol::ICMP | protocol::ICMP_V6)
    }

    /// The server sent nothing; none where nothing is expected: groups, media, one-way tests.
    pub fn is_unanswered(&self) -> Option<bool> {
        let client = self.client();
        let is_group = match self.address(1 - client) {
            IpAddr::V4(address) => address.is_multicast() || address.is_broadcast() || address.octets()[3] == 255,
            IpAddr::V6(address) => address.is_multicast(),
        };
        let is_one_way = matches!(
            self.application(),
            Some(Application::Rtp | Application::Rtcp | Application::Iperf2 | Application::Iperf3)
        );
        let is_unanswered = self.lanes[1 - client].packets == 0;
        (!is_unanswered || !is_group && !is_one_way).then_some(is_unanswered)
    }

    /// Port of a side, of protocols that have some.
    pub fn port(&self, side: usize) -> Option<u16> {
        matches!(self.protocol, protocol::UDP | protocol::UDP_LITE | protocol::SCTP).then(|| self.ports[side & 1])
    }

    /// When its first packet passed.
    pub fn start_ns(&self) -> i64 {
        self.lanes[0].between_ns[0]
    }

    /// When its last packet passed.
    pub fn end_ns(&self) -> i64 {
        let lanes = self.lanes.iter().filter(|lane| lane.packets > 0);
        lanes.map(|lane| lane.between_ns[1]).max().unwrap_or_else(|| self.start_ns())
    }

    /// Packets and bytes of both directions.
    pub fn amount(&self) -> Amount {
        let mut all = Amount::default();
        for lane in &self.lanes {
            all.add(Amount { packets: lane.packets, wire_bytes: lane.wire_bytes });
        }
        all
    }
}

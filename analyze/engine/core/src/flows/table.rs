//! All datagram flows of a capture, found by their endpoints. Memory is bounded by the flows that are kept; what belongs to
//! others is summed.

use crate::decode::batch::OtherAt;
use crate::decode::entered::TunnelPath;
use crate::decode::icmp::IcmpError;
use crate::decode::numbers::protocol;
use crate::decode::other::{OtherKind, Udp, end};
use crate::flows::application::{Application, PassedDatagram};
use crate::flows::flow::{FiveTuple, Flow, FlowLane};
use crate::flows::layouts::Scheme;
use crate::flows::numbers::Numbers;
use crate::flows::passings::Passings;
use crate::flows::protocols::Amount;
use crate::keyed::{KeyedMap, move_places};
use crate::quic::joined::Joined;
use crate::quic::state::{QuicState, UdpPayload};
use crate::read::record::Record;
use crate::secrets::SharedKeys;
use crate::tcp::summary::ending::IcmpErrors;

/// Flows that are kept of a capture.
pub(crate) const MOST_FLOWS: usize = 1 << 17;

/// Of them those whose numbers or QUIC state are followed.
const MOST_FOLLOWED: usize = 1 << 14;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    list: Vec<Flow>,
    /// Those that were forgotten counted, too.
    begun: u32,
    by_key: KeyedMap<FiveTuple, u32>,
    /// Key and place of the last packet's flow: most belong to the one before.
    last: Option<(FiveTuple, u32)>,
    followed: usize,
    keys: SharedKeys,
    not_kept: Amount,
    not_followed: u64,
    passings: Option<Passings>,
}

impl Flows {
    /// An empty table; QUIC is opened with keys of `keys`. Datagrams are kept one by one if it is said by how many bytes they are known.
    pub fn new(keys: &SharedKeys, known_by_bytes: Option<u32>) -> Self {
        Self { keys: keys.clone(), passings: known_by_bytes.map(Passings::new), ..Self::default() }
    }

    /// The datagrams one by one.
    pub fn passings(&self) -> Option<&Passings> {
        self.passings.as_ref()
    }

    /// Packets of flows whose numbers or QUIC state there was no room for.
    pub fn not_followed(&self) -> u64 {
        self.not_followed
    }

    /// Takes a packet that is no TCP; what is no flow's (errors, neighbours, groups) is passed over. Of the first one of a flow it is
    /// asked in which tunnels it was found.
    pub fn packet(
        &mut self,
        bytes: &[u8],
        record: &Record,
        at: &OtherAt,
        tunnels: impl FnOnce() -> Option<TunnelPath>,
    ) {
        let udp = at.other.udp(bytes);
        let Some(key) = FiveTuple::of_packet(bytes, &at.other, udp.as_ref()) else { return };
        let payload = at.other.payload(bytes);
        let amount = Amount { packets: at.frames, wire_bytes: at.wire_bytes };
        let Some(place) = self.known(&key).or_else(|| self.begin(key, record, tunnels)) else {
            self.not_kept.add(amount);
            return;
        };
        self.last = Some((key, place));
        let Self { list, keys, followed, not_followed, passings, .. } = self;
        let Some(flow) = list.get_mut(place as usize) else { return };
        let side = usize::from(key.is_turned != flow.is_turned);
        let length = udp.map_or(at.other.payload_length, |udp| udp.length);
        let Some(lane) = flow.lanes.get_mut(side) else { return };
        lane.count(record.time_ns, length, at.wire_bytes);
        let mut room = Room { keys, followed, not_followed, keeps_packets: passings.is_some() };
        let passed = |numbered| (numbered, record.time_ns, at.wire_bytes as u32);
        let (data, joined) = match udp {
            Some(udp) => {
                let Record { time_ns, frame, .. } = *record;
                let joined = joined(flow, &UdpPayload { bytes: udp.data, length, time_ns, frame, side });
                if joined == Joined::One {
                    datagram(flow, side, &udp, record, at.wire_bytes as u32, &mut room);
                } else {
                    let header_bytes = (at.wire_bytes as u32).saturating_sub(length);
                    for (data, length) in joined.parts(udp.data, length) {
                        datagram(flow, side, &Udp { data, length, ..udp }, record, length + header_bytes, &mut room);
                    }
                }
                (udp.data, joined)
            }
            None if at.other.kind == OtherKind::Ip(protocol::ESP) => {
                let numbered = Scheme::Esp.read(payload, length);
                take_numbers(lane, Scheme::Esp, numbered.map(passed), &mut room);
                (payload, Joined::One)
            }
            None => (payload, Joined::One),
        };
        if joined != Joined::One
            && let Some(lane) = flow.lanes.get_mut(side)
        {
            lane.note_joined(joined, length);
        }
        if let Some(passings) = passings {
            for (data, length) in joined.parts(data, length) {
                passings.take((place, side), record.time_ns, data, length);
            }
        }
    }

    fn known(&self, key: &FiveTuple) -> Option<u32> {
        match self.last {
            Some((last, place)) if last == *key => Some(place),
            _ => self.by_key.get(key).copied(),
        }
    }

    fn begin(&mut self, key: FiveTuple, record: &Record, tunnels: impl FnOnce() -> Option<TunnelPath>) -> Option<u32> {
        let place = self.list.len();
        if place >= MOST_FLOWS {
            return None;
        }
        self.by_key.insert(key, place as u32);
        self.begun = self.begun.saturating_add(1);
        self.list.push(Flow::new(self.begun, key, record, tunnels().map(Box::new)));
        Some(place as u32)
    }

    /// Gives an ICMP error to the flow that it quotes; false if none of those kept has these endpoints.
    pub fn icmp_error(&mut self, error: &IcmpError) -> bool {
        let version = if error.addresses[0].is_ipv4() { 4 } else { 6 };
        let key = FiveTuple::of(error.addresses.map(end), error.ports, version, error.protocol);
        let flow = self.known(&key).and_then(|place| self.list.get_mut(place as usize));
        let is_known = flow.is_some();
        if let Some(flow) = flow {
            flow.icmp_errors.get_or_insert_with(|| Box::new(IcmpErrors::default())).add(*error);
        }
        is_known
    }

    /// Forgets flows of which nothing passed since `before_ns`, but for their number.
    pub(crate) fn forget(&mut self, before_ns: i64) {
        let is_kept = |flow: &Flow| flow.end_ns() >= before_ns;
        let mut next = 0..;
        let places: Vec<_> = self.list.iter().map(|flow| is_kept(flow).then(|| next.next()).flatten()).collect();
        move_places(&mut self.by_key, &places);
        self.list.retain(is_kept);
        self.last = None;
        let followed = |flow: &Flow| {
            usize::from(flow.quic.is_some()) + flow.lanes.iter().filter(|lane| lane.numbers.is_some()).count()
        };
        self.followed = self.list.iter().map(followed).sum();
    }

    /// Adds those of inputs that were analysed apart and follow `inputs` others.
    pub fn append(&mut self, next: Self, inputs: u16) {
        let flows = self.list.len();
        match (&mut self.passings, next.passings) {
            (Some(passings), Some(next)) => passings.append(next, flows),
            (none, next) => *none = none.take().or(next),
        }
        let room = MOST_FLOWS.saturating_sub(self.list.len());
        self.not_kept.add(next.not_kept);
        self.not_followed += next.not_followed;
        for (place, mut flow) in next.list.into_iter().enumerate() {
            if place < room {
                flow.input = flow.input.saturating_add(inputs);
                self.begun = self.begun.saturating_add(1);
                flow.number = self.begun;
                self.list.push(flow);
            } else {
                self.not_kept.add(flow.amount());
            }
        }
    }

    /// All that are kept, in the order of their first packets.
    pub fn list(&self) -> &[Flow] {
        &self.list
    }

    /// Packets of flows beyond those kept.
    pub fn not_kept(&self) -> Amount {
        self.not_kept
    }
}

/// What is left for flows that take more than others.
struct Room<'a> {
    keys: &'a SharedKeys,
    followed: &'a mut usize,
    not_followed: &'a mut u64,
    keeps_packets: bool,
}

impl Room<'_> {
    fn take(&mut self) -> bool {
        let is_left = *self.followed < MOST_FOLLOWED;
        *self.followed += usize::from(is_left);
        *self.not_followed += u64::from(!is_left);
        is_left
    }
}

/// What a captured payload holds, as far as what the flow carries tells it.
fn joined(flow: &mut Flow, captured: &UdpPayload<'_>) -> Joined {
    let UdpPayload { bytes, length, .. } = *captured;
    if let Some(quic) = &mut flow.quic {
        quic.joined(captured)
    } else if let Some(scheme) = flow.application().and_then(Application::scheme) {
        scheme.joined(bytes, length)
    } else if flow.recognition.is_open() && QuicState::begins(bytes) {
        QuicState::default().joined(captured)
    } else if flow.recognition.is_open() {
        let mut found = Scheme::ALL.into_iter().map(|scheme| scheme.joined(bytes, length));
        found.find(|&joined| joined != Joined::One).unwrap_or(Joined::One)
    } else {
        Joined::One
    }
}

fn datagram(flow: &mut Flow, side: usize, udp: &Udp<'_>, record: &Record, wire_bytes: u32, room: &mut Room<'_>) {
    let Record { time_ns, frame, .. } = *record;
    if flow.recognition.is_open() {
        let before = flow.recognition.look(udp, side, time_ns, wire_bytes);
        let scheme = flow.application().and_then(Application::scheme);
        for (side, passed) in before {
            if let Some((lane, scheme)) = flow.lanes.get_mut(side).zip(scheme) {
                take_numbers(lane, scheme, Some(passed), room);
            }
        }
        if flow.application() == Some(Application::Quic) && flow.quic.is_none() && room.take() {
            let quic = flow.quic.insert(Box::new(QuicState::with_keys(room.keys)));
            if room.keeps_packets {
                quic.keep_packets();
            }
        }
    }
    flow.exchange(side, udp, time_ns);
    if let Some(quic) = &mut flow.quic {
        quic.datagram(UdpPayload { bytes: udp.data, length: udp.length, time_ns, frame, side });
    } else if let Some(scheme) = flow.application().and_then(Application::scheme)
        && let Some(lane) = flow.lanes.get_mut(side)
    {
        let numbered = scheme.read(udp.data, udp.length).map(|numbered| (numbered, time_ns, wire_bytes));
        take_numbers(lane, scheme, numbered, room);
    }
}

fn take_numbers(lane: &mut FlowLane, scheme: Scheme, passed: Option<PassedDatagram>, room: &mut Room<'_>) {
    let Some((numbered, time_ns, bytes)) = passed else { return };
    if lane.numbers.is_some() || room.take() {
        lane.numbers.get_or_insert_with(|| Box::new(Numbers::new(scheme))).take(&numbered, time_ns, bytes);
    }
}

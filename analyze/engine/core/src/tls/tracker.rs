//! One connection's TLS tracker: order, search and record walk of both directions behind one small value.

use crate::tls::conclusion::{self, Negotiated, Pair};
use crate::tls::cut::{Cut, CutRecords};
use crate::tls::facts::TlsFacts;
use crate::tls::lane::{RecordLane, State};
use crate::tls::message_filter::Filter;
use crate::tls::side::RecordSide;
use crate::tls::spoken::Spoken;
use crate::tls::stream::{Origin, StreamPiece};
use crate::tls::stream_direction::StreamDirection;
use crate::tls::tally::StreamBytes;
use crate::tls::{chosen, reader};

/// Follows TLS in the two byte streams of one connection.
///
/// A connection without TLS costs a comparison for each segment after its first 64 KiB in either direction, and holds no
/// memory beyond this value; one with TLS holds a few hundred bytes more, while its handshake lasts some kilobytes, and up
/// to 512 KiB a direction of captured bytes that wait for a hole to be filled.
#[derive(Debug, Clone)]
pub struct TlsTracker {
    lanes: [RecordLane; 2],
    /// The frame of the bytes that come next.
    frame: u32,
    /// Who has said application data last: the first or second lane, or nobody.
    speaker: Option<usize>,
    /// The other lane has said some since.
    turned: bool,
    cut: Cut,
}

impl Default for TlsTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl TlsTracker {
    /// A tracker that has seen nothing.
    pub fn new() -> Self {
        Self { lanes: [RecordLane::new(), RecordLane::new()], frame: 0, speaker: None, turned: false, cut: Cut::No }
    }

    /// Takes payload bytes of one direction, each byte of the stream at most once and in any order.
    ///
    /// `stream_offset` counts from the direction's first payload byte; `captured` is the beginning of the `length` bytes,
    /// shorter if the snap length cut it; `by_retransmission` says that they crossed in a retransmitted segment.
    pub fn segment(
        &mut self,
        direction: StreamDirection,
        stream_offset: u64,
        captured: &[u8],
        length: u32,
        time_ns: i64,
        by_retransmission: bool,
    ) {
        let frame = self.frame;
        let lane = self.lane_mut(direction);
        lane.count(u64::from(length), by_retransmission);
        if matches!(lane.state, State::Plain) {
            return;
        }
        let bytes = captured.get(..length as usize).unwrap_or(captured);
        let blind_bytes = u64::from(length) - bytes.len() as u64;
        let origin = if by_retransmission { Origin::Repeated } else { Origin::Fresh };
        let piece = StreamPiece { bytes, blind_bytes, time_ns, frame, origin };
        lane.segment(stream_offset, piece);
        self.after_change(direction);
    }

    /// Takes the next bytes of a direction, in a first transmission, where the search for TLS goes on behind them with nothing
    /// found: most bytes of what is no TLS. False if that is not so; then they are still to be given to [`Self::segment`].
    #[inline]
    pub fn pass(
        &mut self,
        direction: StreamDirection,
        stream_offset: u64,
        captured: &[u8],
        length: u32,
        time_ns: i64,
    ) -> bool {
        let frame = self.frame;
        let lane = self.lane_mut(direction);
        let bytes = captured.get(..length as usize).unwrap_or(captured);
        let nothing = matches!(&lane.state, State::Searching(search) if search.finds_nothing(stream_offset, bytes));
        let passed = nothing && lane.order.pass(stream_offset, u64::from(length), time_ns, frame);
        if passed {
            lane.count(u64::from(length), false);
        }
        passed
    }

    /// False once neither direction can tell anything more; all bytes from then on are application data.
    pub fn is_watching(&self) -> bool {
        self.lanes.iter().any(|lane| !matches!(lane.state, State::Plain))
    }

    /// Says that bytes before `up_to_offset` which have not come were never captured (acknowledged, but unseen).
    pub fn skip_hole(&mut self, direction: StreamDirection, up_to_offset: u64) {
        self.lane_mut(direction).skip(up_to_offset);
        self.after_change(direction);
    }

    /// What is known so far; none if no TLS was recognised.
    pub fn facts(&self) -> Option<TlsFacts> {
        let pair = self.pair();
        if pair.client.is_none() && pair.server.is_none() {
            return None;
        }
        Some(reader::read(pair, self.inexact()))
    }

    /// Bytes of one direction passed so far in first transmissions, by what they are.
    pub fn stream_bytes(&self, direction: StreamDirection) -> StreamBytes {
        let [client_lane, server_lane] = &self.lanes;
        let (lane, first) = match direction {
            StreamDirection::ClientToServer => (client_lane, true),
            StreamDirection::ServerToClient => (server_lane, false),
        };
        let pair = self.pair();
        if pair.client.is_none() && pair.server.is_none() {
            return StreamBytes { application: lane.passed_fresh, ..StreamBytes::default() };
        }
        let conclusion = pair.conclude();
        let tally = if first == self.is_swapped() { conclusion.server } else { conclusion.client };
        let overhead = pair.negotiated().as_ref().and_then(Negotiated::overhead);
        tally.stream_bytes(lane.passed_fresh, overhead)
    }

    /// True if the hellos run against the directions: the capture took the server for the client.
    fn is_swapped(&self) -> bool {
        let [first, second] = &self.lanes;
        let server_speaks_first = first.side().is_some_and(|side| side.assembler.messages.server_hello.is_some());
        let client_speaks_second = second.side().is_some_and(|side| side.assembler.messages.client_hello.is_some());
        server_speaks_first || client_speaks_second
    }

    fn pair(&self) -> Pair<'_> {
        let [first, second] = &self.lanes;
        let [first_proved, second_proved] = self.proved();
        let first = first.side().filter(|_| first_proved);
        let second = second.side().filter(|_| second_proved);
        match self.is_swapped() {
            false => Pair { client: first, server: second },
            true => Pair { client: second, server: first },
        }
    }

    fn proved(&self) -> [bool; 2] {
        let [first, second] = &self.lanes;
        let alone = |lane: &RecordLane| lane.side().is_some_and(|side| side.is_proved(false));
        let beside = |lane: &RecordLane, other: bool| lane.side().is_some_and(|side| side.is_proved(other));
        [beside(first, alone(second)), beside(second, alone(first))]
    }

    fn inexact(&self) -> Option<&'static str> {
        if self.lanes.iter().any(|lane| lane.order.is_waiting()) {
            return Some("bytes within the stream are missing");
        }
        let unrecognised = self.lanes.iter().zip(self.proved()).any(|(lane, proved)| lane.passed_any && !proved);
        unrecognised.then_some("TLS was recognised in one direction only")
    }

    /// The bytes that come next are those of this frame.
    #[inline]
    pub fn at_frame(&mut self, frame: u32) {
        self.frame = frame;
    }

    /// The side that had not spoken last has said application data: [`Self::take_spoken`] has it.
    #[inline]
    pub fn has_turned(&self) -> bool {
        self.turned
    }

    /// The snap length cut off what tells the handshake from data.
    pub fn hides_handshake(&self) -> bool {
        self.cut == Cut::Handshake
    }

    /// The capture missed bytes of a side: whose turn it was meanwhile, nobody knows.
    pub fn misses_bytes(&self) -> bool {
        self.lanes.iter().any(|lane| lane.order.is_waiting() || lane.side().is_some_and(|side| side.misses_bytes))
    }

    /// What the two sides have said since this was asked last, with the lane of each, in order of time; without `finish` only once all
    /// of it is classified.
    pub fn take_spoken(&mut self, finish: bool) -> Vec<(usize, Spoken)> {
        self.turned = false;
        if finish && self.cut == Cut::No {
            self.with_sides(conclusion::finish);
        } else if finish {
            self.follow_cut(true);
        }
        let (client, swapped) = (self.filter(), self.is_swapped());
        let server = Filter { is_server: true, ..client };
        let filters = if swapped { [server, client] } else { [client, server] };
        let [first, second] = &mut self.lanes;
        let (Some(first), Some(second)) = (first.side_mut(), second.side_mut()) else { return Vec::new() };
        let mut spoken: Vec<(usize, Spoken)> = Vec::new();
        for (lane, (side, filter)) in [first, second].into_iter().zip(filters).enumerate() {
            spoken.extend(side.outbox.take(filter).into_iter().map(|spoken| (lane, spoken)));
        }
        spoken.sort_by_key(|(_, spoken)| spoken.start);
        self.speaker = spoken.last().map(|(lane, _)| *lane).or(self.speaker);
        spoken
    }

    /// Which records are messages, of a client.
    fn filter(&self) -> Filter {
        if let Cut::Known(CutRecords { http2, is_tls13, overhead }) = self.cut {
            return Filter { overhead, hides_alerts: is_tls13, http2, http1: !http2, ..Filter::default() };
        }
        let pair = self.pair();
        let negotiated = pair.negotiated();
        let offers = |matches: &dyn Fn(&str) -> bool| {
            let hello = pair.client.and_then(|side| side.assembler.messages.client_hello.as_ref());
            hello.is_some_and(|hello| hello.alpn.iter().any(|protocol| matches(protocol)))
        };
        let http2 = chosen::is_http2(&pair);
        Filter {
            overhead: negotiated.as_ref().and_then(Negotiated::overhead).map_or(0, |overhead| overhead.bytes),
            hides_alerts: negotiated.as_ref().is_some_and(Negotiated::is_tls13),
            http2: http2 != Some(false) && offers(&|protocol| protocol == "h2"),
            http1: http2 != Some(true) && offers(&|protocol| protocol.starts_with("http/1")),
            ..Filter::default()
        }
    }

    /// Calls with the client's and the server's side, if both are TLS.
    fn with_sides(&mut self, change: impl FnOnce(&mut RecordSide, &mut RecordSide)) {
        let swapped = self.is_swapped();
        let [first, second] = &mut self.lanes;
        match (first.side_mut(), second.side_mut()) {
            (Some(first), Some(second)) if swapped => change(second, first),
            (Some(first), Some(second)) => change(first, second),
            _ => {}
        }
    }

    /// What both sides say is classified as it comes.
    pub fn is_settled(&self) -> bool {
        match self.cut {
            Cut::No => self.lanes.iter().all(|lane| lane.side().is_some_and(RecordSide::is_settled)),
            Cut::Handshake | Cut::Data { .. } => false,
            Cut::Known(_) => true,
        }
    }

    /// Records were cut before all of them were classified as they come.
    fn note_cut(&mut self, direction: StreamDirection) {
        let is_lost = |lane: &RecordLane| lane.side().is_some_and(|side| side.lost.is_some());
        let begins = self.cut == Cut::No && self.lanes.iter().any(is_lost) && !self.is_settled();
        if !begins && !matches!(self.cut, Cut::Handshake | Cut::Data { .. }) {
            return;
        }
        let [first, second] = &mut self.lanes;
        let other = if direction == StreamDirection::ClientToServer { second } else { first };
        other.side_mut().into_iter().for_each(|side| side.outbox.interrupt());
        self.follow_cut(false);
    }

    #[cold]
    fn follow_cut(&mut self, finish: bool) {
        let mut cut = self.cut;
        self.with_sides(|client, server| cut = cut.follow(client, server, finish));
        self.cut = cut;
    }

    fn note_turn(&mut self, direction: StreamDirection) {
        let lane = direction as usize;
        if self.speaker == Some(lane) || self.turned {
            return;
        }
        let speaks = self.lanes.get(lane).and_then(RecordLane::side).is_some_and(|side| !side.outbox.is_empty());
        self.turned = speaks && self.is_settled();
    }

    fn lane_mut(&mut self, direction: StreamDirection) -> &mut RecordLane {
        let [client_lane, server_lane] = &mut self.lanes;
        match direction {
            StreamDirection::ClientToServer => client_lane,
            StreamDirection::ServerToClient => server_lane,
        }
    }

    fn after_change(&mut self, direction: StreamDirection) {
        if matches!(self.lane_mut(direction).state, State::Plain) {
            self.give_up_together();
        } else {
            self.note_cut(direction);
            self.settle();
            self.note_turn(direction);
        }
    }

    /// A connection one of whose directions is plain for certain is not searched any further in the other.
    fn give_up_together(&mut self) {
        if self.lanes.iter().any(|lane| matches!(lane.state, State::Tls(_))) {
            return;
        }
        self.lanes.iter_mut().for_each(RecordLane::give_up);
    }

    fn settle(&mut self) {
        let swapped = match &self.lanes {
            [RecordLane { state: State::Tls(first), .. }, RecordLane { state: State::Tls(second), .. }]
                if first.has_undecided() || second.has_undecided() =>
            {
                self.is_swapped()
            }
            _ => return,
        };
        let [first, second] = &mut self.lanes;
        match swapped {
            false => conclusion::settle(first.side_mut(), second.side_mut()),
            true => conclusion::settle(second.side_mut(), first.side_mut()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Text, and now and then what may be the beginning of a record.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![20 => b' '..=b'~', 2 => 0x14u8..=0x17, 1 => Just(3u8), 1 => 0u8..=4, 1 => 0x80u8..];
        prop::collection::vec(byte, 0..200)
    }

    proptest! {
        #[test]
        fn bytes_that_are_passed_are_as_if_they_had_been_taken(bytes in stream(), lengths in prop::collection::vec((1usize..40, 0u32..30, 0u8..2), 1..20)) {
            let (mut taking, mut passing) = (TlsTracker::new(), TlsTracker::new());
            let mut offsets = [0, 0];
            for (time_ns, &(captured, cut, side)) in (0..).zip(&lengths) {
                let direction = if side == 0 { StreamDirection::ClientToServer } else { StreamDirection::ServerToClient };
                let offset = offsets[usize::from(side)];
                let piece = bytes.iter().cycle().skip(offset).take(captured.min(bytes.len())).copied().collect::<Vec<u8>>();
                let length = captured as u32 + cut;
                let at = offset as u64;
                taking.segment(direction, at, &piece, length, time_ns, false);
                if !passing.pass(direction, at, &piece, length, time_ns) {
                    passing.segment(direction, at, &piece, length, time_ns, false);
                }
                offsets[usize::from(side)] += length as usize;
                prop_assert_eq!(taking.is_watching(), passing.is_watching());
            }
            prop_assert_eq!(format!("{:?}", taking.facts()), format!("{:?}", passing.facts()));
            for direction in [StreamDirection::ClientToServer, StreamDirection::ServerToClient] {
                prop_assert_eq!(
                    format!("{:?}", taking.stream_bytes(direction)),
                    format!("{:?}", passing.stream_bytes(direction))
                );
            }
        }
    }
}

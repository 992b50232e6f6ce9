//! Packets as columns: one row for each packet of the connections that were asked for.

use std::ops::Range;

use crate::analysis::results::Analysis;
use crate::output::columns::{Column, ColumnValues};
use crate::output::fields::emitted::ValueKind;
use crate::output::fields::field::{Field as Words, field};
use crate::tcp::direction::on_data::KIND_NAMES;
use crate::tcp::events::acked::Rejected;
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::rows::rows::Field;
use crate::tcp::rtt::covering::Lengthened;
use crate::tcp::rtt::samples::Answered;

/// How a column's numbers are meant.
#[derive(Clone, Copy)]
enum As {
    Unsigned,
    Signed,
    Flag,
    /// Nanoseconds, given out in seconds.
    Seconds,
    /// Numbers of these names.
    Names(&'static [&'static str]),
}

/// The columns in order, and what they mean.
const COLUMNS: [(Field, As, Words); 27] = [
    (Field::Connection, As::Unsigned, field("connection", "number of the connection")),
    (Field::Input, As::Unsigned, field("input", "number of the input file, from 0")),
    (Field::Frame, As::Unsigned, field("frame", "number of the frame in it, from 1, as in Wireshark")),
    (Field::TimeNs, As::Signed, field("time_ns", "capture time, Unix")),
    (Field::FromClient, As::Flag, field("from_client", "sent by the client")),
    (Field::Kind, As::Names(&KIND_NAMES), field("kind", "what it is")),
    (Field::Trigger, As::Names(&Trigger::NAMES), field("trigger", "why it was retransmitted")),
    (
        Field::Sequence,
        As::Signed,
        field("sequence", "its first byte, counted from the first payload byte of the direction").unit("bytes"),
    ),
    (
        Field::Acknowledgement,
        As::Signed,
        field("acknowledgement", "what it acknowledges, counted likewise").unit("bytes"),
    ),
    (Field::PayloadBytes, As::Unsigned, field("payload_bytes", "its payload")),
    (Field::WireBytes, As::Unsigned, field("wire_bytes", "all of it on the wire")),
    (Field::Flags, As::Unsigned, field("flags", "TCP flags as in the header")),
    (Field::WindowBytes, As::Unsigned, field("window_bytes", "the window it advertises, scaled")),
    (
        Field::FlightBytes,
        As::Unsigned,
        field("flight_bytes", "in flight after it, of the direction whose data it carries or acknowledges"),
    ),
    (
        Field::RttNs,
        As::Seconds,
        field("rtt_s", "the clean round trip that it completes ([methods.md](methods.md), section 4)"),
    ),
    (Field::RttFrame, As::Unsigned, field("rtt_frame", "the frame that it acknowledges")),
    (
        Field::RttLengthenedBy,
        As::Names(&Lengthened::NAMES),
        field("rtt_lengthened_by", "what lengthened that round trip, besides the path"),
    ),
    (
        Field::RttRejected,
        As::Names(&Rejected::NAMES),
        field("rtt_rejected", "it acknowledges data and gives no clean round trip: why"),
    ),
    (Field::RecoveryRttNs, As::Seconds, field("recovery_rtt_s", "the round trip of loss recovery that it completes")),
    (Field::RecoveryRttFrame, As::Unsigned, field("recovery_rtt_frame", "the frame that it acknowledges")),
    (Field::RecoveryRttMethod, As::Names(&Answered::NAMES), field("recovery_rtt_method", "what shows that")),
    (Field::SpacingNs, As::Seconds, field("spacing_s", "time since the data packet before it of its direction")),
    (Field::SackedBytes, As::Unsigned, field("sacked_bytes", "what its sender holds beyond a hole")),
    (Field::RawSequence, As::Unsigned, field("raw_sequence", "sequence number as in the header")),
    (Field::TsVal, As::Unsigned, field("tsval", "timestamp option (RFC 7323)")),
    (Field::TsEcr, As::Unsigned, field("tsecr", "timestamp that it echoes")),
    (Field::Identification, As::Unsigned, field("identification", "of the IPv4 header")),
];

/// Which packets and columns are wanted; all where nothing is said.
#[derive(Debug, Default, Clone)]
pub struct PacketChoice<'a> {
    /// Of these connections, among those whose packets there are.
    pub connections: Option<&'a [u32]>,
    /// Of those packets the ones at these places.
    pub places: Option<Range<usize>>,
    /// Columns of these names.
    pub names: Option<&'a [&'a str]>,
}

/// One row for each packet of the connections that were asked for.
pub fn packet_columns(analysis: &Analysis) -> impl Iterator<Item = Column> {
    chosen_packet_columns(analysis, PacketChoice::default())
}

/// The same of some of them. Columns are made one by one: all together they take four times as much memory as the packets
/// that they are made of.
pub fn chosen_packet_columns<'a>(
    analysis: &'a Analysis,
    choice: PacketChoice<'a>,
) -> impl Iterator<Item = Column> + 'a {
    let selection = analysis.rows.select(choice.connections, choice.places);
    let is_wanted = move |name: &str| choice.names.is_none_or(|names| names.contains(&name));
    let columns = COLUMNS.into_iter().filter(move |(.., words)| is_wanted(words.paths));
    columns
        .map(move |(field, means, words)| Column::new(words.paths, means.of(analysis.rows.selected(field, &selection))))
}

/// Words, kind and values of each column, for the documentation.
pub(super) fn described() -> impl Iterator<Item = (Words, ValueKind, &'static [&'static str])> {
    COLUMNS.into_iter().map(|(_, means, words)| match means {
        As::Unsigned | As::Signed => (words, ValueKind::Integer, &[][..]),
        As::Flag => (words, ValueKind::Flag, &[][..]),
        As::Seconds => (words, ValueKind::Number, &[][..]),
        As::Names(names) => (words, ValueKind::Text, names),
    })
}

impl As {
    fn of(self, values: Vec<Option<i64>>) -> ColumnValues {
        let values = values.into_iter();
        match self {
            Self::Unsigned => ColumnValues::U64(values.map(|value| value.map(|bits| bits as u64)).collect()),
            Self::Signed => ColumnValues::I64(values.collect()),
            Self::Flag => ColumnValues::Bool(values.map(|value| value.map(|flag| flag != 0)).collect()),
            Self::Seconds => ColumnValues::F64(values.map(|value| value.map(|ns| ns as u64 as f64 / 1e9)).collect()),
            Self::Names(names) => {
                ColumnValues::Category { codes: values.map(|value| value.map(|code| code as u8)).collect(), names }
            }
        }
    }
}

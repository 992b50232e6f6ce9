//! Packets as columns: one row for each packet of the connections that were asked for.

use std::ops::Range;

use crate::analysis::results::Analysis;
use crate::output::columns::{Column, ColumnValues};
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

/// The columns in order.
const COLUMNS: [(&str, Field, As); 27] = [
    ("connection", Field::Connection, As::Unsigned),
    ("input", Field::Input, As::Unsigned),
    ("frame", Field::Frame, As::Unsigned),
    ("time_ns", Field::TimeNs, As::Signed),
    ("from_client", Field::FromClient, As::Flag),
    ("kind", Field::Kind, As::Names(&KIND_NAMES)),
    ("trigger", Field::Trigger, As::Names(&Trigger::NAMES)),
    ("sequence", Field::Sequence, As::Signed),
    ("acknowledgement", Field::Acknowledgement, As::Signed),
    ("payload_bytes", Field::PayloadBytes, As::Unsigned),
    ("wire_bytes", Field::WireBytes, As::Unsigned),
    ("flags", Field::Flags, As::Unsigned),
    ("window_bytes", Field::WindowBytes, As::Unsigned),
    ("flight_bytes", Field::FlightBytes, As::Unsigned),
    ("rtt_s", Field::RttNs, As::Seconds),
    ("rtt_frame", Field::RttFrame, As::Unsigned),
    ("rtt_lengthened_by", Field::RttLengthenedBy, As::Names(&Lengthened::NAMES)),
    ("rtt_rejected", Field::RttRejected, As::Names(&Rejected::NAMES)),
    ("recovery_rtt_s", Field::RecoveryRttNs, As::Seconds),
    ("recovery_rtt_frame", Field::RecoveryRttFrame, As::Unsigned),
    ("recovery_rtt_method", Field::RecoveryRttMethod, As::Names(&Answered::NAMES)),
    ("spacing_s", Field::SpacingNs, As::Seconds),
    ("sacked_bytes", Field::SackedBytes, As::Unsigned),
    ("raw_sequence", Field::RawSequence, As::Unsigned),
    ("tsval", Field::TsVal, As::Unsigned),
    ("tsecr", Field::TsEcr, As::Unsigned),
    ("identification", Field::Identification, As::Unsigned),
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
    let columns = COLUMNS.into_iter().filter(move |(name, ..)| is_wanted(name));
    columns.map(move |(name, field, means)| Column::new(name, means.of(analysis.rows.selected(field, &selection))))
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

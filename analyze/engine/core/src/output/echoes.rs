//! ICMP echo requests as columns: one row for each.

use crate::analysis::echoes::EchoRequest;
use crate::analysis::results::Analysis;
use crate::output::columns::{Column, ColumnValues};

/// One row for each echo request, in the order of the requests.
pub fn echo_columns(analysis: &Analysis) -> Vec<Column> {
    let rows = || analysis.echoes.list().iter();
    let unsigned = |field: fn(&EchoRequest) -> Option<u64>| ColumnValues::U64(rows().map(field).collect());
    let signed = |field: fn(&EchoRequest) -> Option<i64>| ColumnValues::I64(rows().map(field).collect());
    let text = |field: fn(&EchoRequest) -> String| ColumnValues::Text(rows().map(|row| Some(field(row))).collect());
    vec![
        Column::new("input", unsigned(|row| Some(u64::from(row.request.input)))),
        Column::new("asked_ns", signed(|row| Some(row.request.time_ns))),
        Column::new("replied_ns", signed(|row| row.reply.map(|(time_ns, _)| time_ns))),
        Column::new("round_trip_ns", signed(EchoRequest::round_trip_ns)),
        Column::new("client", text(|row| row.request.from.to_string())),
        Column::new("server", text(|row| row.request.to.to_string())),
        Column::new("identifier", unsigned(|row| Some(u64::from(row.request.identifier)))),
        Column::new("sequence", unsigned(|row| Some(u64::from(row.request.sequence)))),
        Column::new("request_frame", unsigned(|row| Some(u64::from(row.request.frame)))),
        Column::new("reply_frame", unsigned(|row| row.reply.map(|(_, frame)| u64::from(frame)))),
    ]
}

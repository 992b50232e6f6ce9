//! Captures that are analysed apart, put into one result: connections are numbered through, inputs follow each other.

use vmtrace_core::analysis::Analysis;
use vmtrace_core::read::ReadError;
use vmtrace_core::tcp::rows::Rows;

/// Adds what was measured of further inputs to `all`.
pub fn append(all: &mut Analysis, mut next: Analysis) {
    let connections = u32::try_from(all.connections.len()).unwrap_or(u32::MAX);
    let inputs = u16::try_from(all.inputs.len()).unwrap_or(u16::MAX);
    for connection in &mut next.connections {
        connection.id = connection.id.saturating_add(connections);
        connection.input = connection.input.saturating_add(inputs);
    }
    next.rows.connection.iter_mut().for_each(|id| *id += u64::from(connections));
    next.rows.input.iter_mut().for_each(|input| *input += u64::from(inputs));
    all.interrupted |= next.interrupted;
    all.connections.append(&mut next.connections);
    all.inputs.append(&mut next.inputs);
    all.openings.merge(next.openings);
    append_rows(&mut all.rows, next.rows);
}

fn append_rows(all: &mut Rows, mut next: Rows) {
    all.connection.append(&mut next.connection);
    all.input.append(&mut next.input);
    all.frame.append(&mut next.frame);
    all.time_ns.append(&mut next.time_ns);
    all.from_client.append(&mut next.from_client);
    all.kind.append(&mut next.kind);
    all.trigger.append(&mut next.trigger);
    all.sequence.append(&mut next.sequence);
    all.acknowledgement.append(&mut next.acknowledgement);
    all.payload_bytes.append(&mut next.payload_bytes);
    all.wire_bytes.append(&mut next.wire_bytes);
    all.flags.append(&mut next.flags);
    all.window_bytes.append(&mut next.window_bytes);
    all.flight_bytes.append(&mut next.flight_bytes);
    all.rtt_ns.append(&mut next.rtt_ns);
    all.rtt_frame.append(&mut next.rtt_frame);
    all.spacing_ns.append(&mut next.spacing_ns);
    all.sacked_bytes.append(&mut next.sacked_bytes);
}

/// The error with its input counted over all groups.
pub fn moved(error: ReadError, first_input: u16) -> ReadError {
    match error {
        ReadError::Io { input, source } => ReadError::Io { input: input.saturating_add(first_input), source },
        ReadError::NotACapture { input, what } => {
            ReadError::NotACapture { input: input.saturating_add(first_input), what }
        }
        ReadError::Decompression { input, what } => {
            ReadError::Decompression { input: input.saturating_add(first_input), what }
        }
    }
}

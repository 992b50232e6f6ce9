//! Captures that are analysed apart, put into one result: connections are numbered through, inputs follow each other.

use vmtrace_core::analysis::Analysis;
use vmtrace_core::read::ReadError;

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
    all.rows.append(next.rows);
}

/// The error with its input counted over all groups.
pub fn moved(error: ReadError, first_input: u16) -> ReadError {
    match error {
        ReadError::Io { input, source } => ReadError::Io { input: input.saturating_add(first_input), source },
        ReadError::NotACapture { input, what } => ReadError::NotACapture { input: input.saturating_add(first_input), what },
        ReadError::Decompression { input, what } => {
            ReadError::Decompression { input: input.saturating_add(first_input), what }
        }
    }
}

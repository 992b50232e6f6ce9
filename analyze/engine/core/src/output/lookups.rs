//! Names looked up, as columns: one row for each address of an answer, one without an address for an answer without any.

use std::collections::HashMap;

use crate::analysis::results::Analysis;
use crate::dns::lookups::{Lookup, Transport};
use crate::output::columns::{Column, ColumnValues};
use crate::output::describe::names;

/// By number of the connection: the index of its lookup in the document.
pub fn of_connections(analysis: &Analysis) -> HashMap<u32, u64> {
    names::of_connections(analysis, &names::listed(&analysis.resolutions.list))
}

/// One row for each address that the capture shows to have been answered, in the order of the answers.
pub fn lookup_columns(analysis: &Analysis) -> Vec<Column> {
    let lookups = analysis.lookups.answered();
    let rows = || lookups.iter().flat_map(|&lookup| std::iter::repeat_n(lookup, lookup.message.addresses.len().max(1)));
    let unsigned = |field: fn(&Lookup) -> u64| ColumnValues::U64(rows().map(|row| Some(field(row))).collect());
    let text = |field: fn(&Lookup) -> Option<String>| ColumnValues::Text(rows().map(field).collect());
    let addresses = lookups.iter().flat_map(|lookup| {
        let found = lookup.message.addresses.iter().map(|address| Some(address.to_string()));
        found.chain(lookup.message.addresses.is_empty().then_some(None))
    });
    vec![
        Column::new("input", unsigned(|row| u64::from(row.input))),
        Column::new("asked_ns", ColumnValues::I64(rows().map(|row| row.asked_ns).collect())),
        Column::new("answered_ns", ColumnValues::I64(rows().map(|row| row.answered_ns).collect())),
        Column::new("client", text(|row| Some(row.client.to_string()))),
        Column::new("resolver", text(|row| Some(row.resolver.to_string()))),
        Column::new(
            "transport",
            ColumnValues::Category {
                codes: rows().map(|row| Some(row.transport as u8)).collect(),
                names: &Transport::NAMES,
            },
        ),
        Column::new("name", text(|row| row.message.name.clone())),
        Column::new("record_type", ColumnValues::U64(rows().map(|row| row.message.kind.map(u64::from)).collect())),
        Column::new("response_code", unsigned(|row| u64::from(row.message.response_code))),
        Column::new("aliases", text(|row| (!row.message.aliases.is_empty()).then(|| row.message.aliases.join(", ")))),
        Column::new("address", ColumnValues::Text(addresses.collect())),
    ]
}

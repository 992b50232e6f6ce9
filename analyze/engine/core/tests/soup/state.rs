//! The whole state of a flow table as text, and where two of them differ.

use std::fmt::Write;

use vmtrace_core::tcp::connection::connection::Connection;
use vmtrace_core::tcp::direction::byte_ledger::Together;
use vmtrace_core::tcp::direction::direction::Direction;
use vmtrace_core::tcp::flow::table::Shard;

/// Everything that connections and what they share hold, in the order of the table.
///
/// Left out are the table itself and the records kept for reuse: they hold no measurement.
pub fn write_state(shard: &mut Shard, out: &mut String) {
    out.clear();
    for connection in shard.in_progress() {
        write_connection(connection, out);
    }
    for summary in shard.finished() {
        write_value(summary, out);
    }
    let environment = &shard.shared.environment;
    write_value(&environment.openings, out);
    write_value(&environment.clock_steps, out);
    write_value(&shard.shared.faults, out);
}

fn write_value(value: &impl std::fmt::Debug, out: &mut String) {
    writeln!(out, "{value:?}").unwrap();
}

/// The only thing that the fast path keeps elsewhere than the general path: data in order is first counted in
/// `together`, and brought into the counters later. Here it is counted for the text alone; the connection stays as it was,
/// or the comparison would change the way it takes.
fn write_connection(connection: &mut Connection, out: &mut String) {
    let before = connection.directions.each_ref().map(Counters::of);
    connection.directions.iter_mut().for_each(Direction::settle_counters);
    write_value(connection, out);
    for (direction, counters) in connection.directions.iter_mut().zip(before) {
        counters.put_back(direction);
    }
}

/// What settling changes.
struct Counters {
    together: Together,
    packets: u64,
    wire_bytes: u64,
    data_packets: u64,
    data_segments: u64,
    payload_bytes: u64,
    unique_payload_bytes: u64,
    ledger: vmtrace_core::tcp::direction::byte_ledger::ByteLedger,
}

impl Counters {
    fn of(direction: &Direction) -> Self {
        let &Direction { together, packets, wire_bytes, data_packets, data_segments, payload_bytes, .. } = direction;
        let (unique_payload_bytes, ledger) = (direction.unique_payload_bytes, direction.ledger);
        Self { together, packets, wire_bytes, data_packets, data_segments, payload_bytes, unique_payload_bytes, ledger }
    }

    fn put_back(self, direction: &mut Direction) {
        (direction.together, direction.ledger) = (self.together, self.ledger);
        (direction.packets, direction.wire_bytes) = (self.packets, self.wire_bytes);
        (direction.data_packets, direction.data_segments) = (self.data_packets, self.data_segments);
        (direction.payload_bytes, direction.unique_payload_bytes) = (self.payload_bytes, self.unique_payload_bytes);
    }
}

/// Maps in no order.
const UNORDERED: [&str; 1] = ["passed"];

/// What two texts of [`write_state`] differ in; none if that is nothing.
pub fn difference(fast: &str, general: &str) -> Option<String> {
    if fast == general {
        return None;
    }
    let [fast, general] = [fast, general].map(comparable);
    (fast != general).then(|| first_differences(&in_lines(&fast), &in_lines(&general)))
}

fn comparable(text: &str) -> String {
    UNORDERED.iter().fold(text.to_owned(), |text, field| with_values(&text, field, in_order))
}

/// The text with another value for each field of this name.
fn with_values(text: &str, field: &str, change: impl Fn(&str) -> String) -> String {
    let name = format!(" {field}: ");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(&name) {
        let (before, value) = rest.split_at(at + name.len());
        let length = value_length(value);
        out += before;
        out += &change(&value[..length]);
        rest = &value[length..];
    }
    out + rest
}

/// A value ends at a comma or bracket that is not its own.
fn value_length(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b',' | b'}' | b']' | b')' | b'\n' if depth == 0 => return at,
            b'}' | b']' | b')' => depth -= 1,
            b' ' if depth == 0 && !text[at + 1..].starts_with('{') => return at,
            _ => {}
        }
    }
    text.len()
}

/// A map with its entries sorted.
fn in_order(map: &str) -> String {
    let Some(mut rest) = map.strip_prefix('{').and_then(|map| map.strip_suffix('}')) else { return map.to_owned() };
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let key = rest.find(": ").map_or(0, |at| at + 2);
        let length = key + value_length(&rest[key..]);
        entries.push(&rest[..length]);
        rest = rest[length..].trim_start_matches([',', ' ']);
    }
    entries.sort_unstable();
    format!("{{{}}}", entries.join(", "))
}

/// A field a line, indented by depth.
fn in_lines(text: &str) -> String {
    let mut out = String::new();
    let mut depth = 0;
    for byte in text.chars() {
        match byte {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
        out.push(byte);
        if matches!(byte, '{' | '[' | '(' | ',') {
            out += "\n";
            out += &"    ".repeat(depth);
        }
    }
    out
}

/// The first fields that differ, each with where it stands.
fn first_differences(fast: &str, general: &str) -> String {
    let mut found = String::new();
    let mut path: Vec<&str> = Vec::new();
    let mut count = 0;
    for (one, other) in fast.lines().zip(general.lines()) {
        let depth = (one.len() - one.trim_start().len()) / 4;
        path.truncate(depth);
        if one.trim() != other.trim() {
            count += 1;
            if count <= 12 {
                let [one, other] = [one.trim(), other.trim()];
                writeln!(found, "  {}\n    fast    {one}\n    general {other}", path.join(" ")).unwrap();
            }
        }
        path.push(one.trim().trim_end_matches(['{', '[', '(']).trim());
    }
    let lengths = [fast, general].map(|text| text.lines().count());
    if lengths[0] != lengths[1] {
        writeln!(found, "  {} and {} lines", lengths[0], lengths[1]).unwrap();
    }
    found
}

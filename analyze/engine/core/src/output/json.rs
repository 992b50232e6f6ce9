//! The JSON contract `vmtrace.analysis/1`, written as a stream: memory does not grow with the number of connections.

use std::io::{self, Write};

use super::describe::{self, Key, Visitor, key};
use super::fixed::{push_fixed, push_float, push_signed, push_unsigned};
use super::link_names::link_type_name;
use crate::analysis::{Analysis, InputSummary};
use crate::tcp::summary::{ConnectionSummary, REASONS, SpacingSummary};

/// The contract's name.
pub const SCHEMA: &str = "vmtrace.analysis/1";

/// What the caller knows and the engine does not.
#[derive(Debug, Clone, Default)]
pub struct JsonHeader {
    /// Version of vmtrace.
    pub vmtrace_version: String,
    /// Paths of the inputs, in order.
    pub input_paths: Vec<String>,
    /// Only the connection of this number, if given.
    pub only_connection: Option<u32>,
}

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

impl Analysis {
    /// Writes everything as one JSON document.
    ///
    /// # Errors
    /// What `out` returns.
    pub fn write_json(&self, out: &mut dyn Write, header: &JsonHeader) -> io::Result<()> {
        let mut json = Json { out: Vec::with_capacity(BUFFER_BYTES + 16_384), first: true };
        json.out.push(b'{');
        json.text(key!("schema"), Some(SCHEMA));
        json.text(key!("vmtrace"), Some(&header.vmtrace_version));
        json.flag(key!("interrupted"), Some(self.interrupted));
        json.reasons(key!("reasons"), &mut REASONS.into_iter());
        json.key(key!("inputs"));
        json.array(self.inputs.iter().enumerate(), |json, (index, input)| {
            input_object(json, input, header.input_paths.get(index).map_or("", String::as_str));
        });
        json.key(key!("connections"));
        json.out.push(b'[');
        let wanted = |id: u32| header.only_connection.is_none_or(|only| only == id);
        for (index, summary) in self.connections.iter().filter(|summary| wanted(summary.id)).enumerate() {
            json.out.extend_from_slice(if index == 0 { b"\n{" } else { b",\n{" });
            json.first = true;
            describe::connection(summary, &mut json);
            json.out.push(b'}');
            if json.out.len() >= BUFFER_BYTES {
                out.write_all(&json.out)?;
                json.out.clear();
            }
        }
        json.out.extend_from_slice(b"]}\n");
        out.write_all(&json.out)
    }
}

fn input_object(json: &mut Json, input: &InputSummary, path: &str) {
    let facts = &input.facts;
    json.text(key!("path"), Some(path));
    json.text(key!("format"), Some(facts.format).filter(|format| !format.is_empty()));
    json.text(key!("compression"), facts.compression);
    json.key(key!("link_types"));
    json.list(facts.link_types.iter(), |json, &link_type| json.string(&link_type_name(link_type)));
    json.exact_seconds(
        key!("time_resolution_s"),
        i64::try_from(facts.time_resolution_ns).ok().filter(|_| facts.time_resolution_ns > 0),
    );
    json.integer(key!("packets"), Some(facts.packets));
    json.integer(key!("tcp_packets"), Some(input.tcp_packets));
    json.integer(key!("captured_bytes"), Some(facts.captured_bytes));
    json.integer(key!("wire_bytes"), Some(facts.wire_bytes));
    json.integer(key!("snap_length_bytes"), facts.snap_length.map(u64::from));
    for (key, value) in [(key!("start_ns"), facts.start_ns), (key!("end_ns"), facts.end_ns)] {
        json.key(key);
        match value {
            Some(value) => push_signed(&mut json.out, value),
            None => json.null(),
        }
    }
    json.object(key!("undecoded_packets"), true);
    for (reason, count) in &input.undecoded {
        json.string_key(reason);
        push_unsigned(&mut json.out, *count);
    }
    json.end();
    json.key(key!("damage"));
    json.array(facts.damage.iter(), |json, damage| {
        json.integer(key!("offset"), Some(damage.offset));
        json.integer(key!("skipped_bytes"), Some(damage.skipped_bytes));
        json.text(key!("what"), Some(&damage.what));
    });
    json.object(key!("capture"), true);
    json.integer(key!("dropped_by_kernel"), facts.dropped_by_kernel);
    json.integer(key!("dropped_by_interface"), facts.dropped_by_interface);
    json.integer(key!("packets_without_time"), Some(facts.packets_without_time));
    json.integer(key!("unseen_acked_bytes"), Some(input.unseen_acked_bytes));
    json.integer(key!("duplicates"), Some(input.duplicates));
    json.integer(key!("reordered"), Some(input.reordered));
    json.integer(key!("clock_steps"), Some(input.clock_steps));
    json.end();
}

/// A JSON document being written.
struct Json {
    out: Vec<u8>,
    /// No member of the current object has been written.
    first: bool,
}

impl Json {
    #[inline]
    fn key(&mut self, key: Key) {
        let quoted = key.quoted().as_bytes();
        let skipped = usize::from(self.first);
        self.first = false;
        self.out.extend_from_slice(quoted.get(skipped..).unwrap_or_default());
    }

    fn string_key(&mut self, key: &str) {
        if self.first {
            self.first = false;
        } else {
            self.out.push(b',');
        }
        self.string(key);
        self.out.push(b':');
    }

    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    /// A string from a file or a peer: control characters, quotes and what HTML could take for markup are escaped.
    fn string(&mut self, text: &str) {
        let plain = |byte: u8| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&');
        self.out.push(b'"');
        if text.bytes().all(plain) {
            self.out.extend_from_slice(text.as_bytes());
        } else {
            self.escaped(text);
        }
        self.out.push(b'"');
    }

    fn escaped(&mut self, text: &str) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        for character in text.chars() {
            match character {
                '"' => self.out.extend_from_slice(b"\\\""),
                '\\' => self.out.extend_from_slice(b"\\\\"),
                '\0'..='\u{1f}' | '\u{7f}' | '<' | '>' | '&' => {
                    let code = character as usize;
                    self.out.extend_from_slice(&[b'\\', b'u', b'0', b'0', HEX[code >> 4], HEX[code & 15]]);
                }
                '\u{2028}' => self.out.extend_from_slice(b"\\u2028"),
                '\u{2029}' => self.out.extend_from_slice(b"\\u2029"),
                _ => self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }

    fn list<T>(&mut self, items: impl Iterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.out.push(b'[');
        for (index, value) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            item(self, value);
        }
        self.out.push(b']');
        self.first = false;
    }

    fn array<T>(&mut self, items: impl Iterator<Item = T>, mut members: impl FnMut(&mut Self, T)) {
        self.list(items, |json, value| {
            json.out.push(b'{');
            json.first = true;
            members(json, value);
            json.out.push(b'}');
        });
    }
}

impl Visitor for Json {
    fn object(&mut self, key: Key, present: bool) -> bool {
        self.key(key);
        if present {
            self.out.push(b'{');
            self.first = true;
        } else {
            self.null();
        }
        present
    }

    fn end(&mut self) {
        self.out.push(b'}');
        self.first = false;
    }

    fn integer(&mut self, key: Key, value: Option<u64>) {
        self.key(key);
        match value {
            Some(value) => push_unsigned(&mut self.out, value),
            None => self.null(),
        }
    }

    fn instant(&mut self, key: Key, value: i64) {
        self.key(key);
        push_signed(&mut self.out, value);
    }

    fn seconds(&mut self, key: Key, value_ns: Option<f64>) {
        self.key(key);
        match value_ns {
            // Whole nanoseconds, which most are, need no further decimals.
            Some(value) if value == value.trunc() && value.abs() < 9e15 => push_fixed::<9>(&mut self.out, value as i64),
            Some(value) if value.abs() < 9e15 => push_fixed::<12>(&mut self.out, (value * 1000.0).round() as i64),
            Some(value) => push_float::<3>(&mut self.out, value / 1e9),
            None => self.null(),
        }
    }

    fn exact_seconds(&mut self, key: Key, value_ns: Option<i64>) {
        self.key(key);
        match value_ns {
            Some(value) => push_fixed::<9>(&mut self.out, value),
            None => self.null(),
        }
    }

    fn number(&mut self, key: Key, value: Option<f64>) {
        self.key(key);
        match value {
            Some(value) if value.abs() < 1e6 => push_float::<9>(&mut self.out, value),
            Some(value) => push_float::<3>(&mut self.out, value),
            None => self.null(),
        }
    }

    fn text(&mut self, key: Key, value: Option<&str>) {
        self.key(key);
        match value {
            Some(text) => self.string(text),
            None => self.null(),
        }
    }

    fn endpoint(&mut self, key: Key, summary: &ConnectionSummary, side: usize) {
        self.key(key);
        self.out.push(b'"');
        describe::push_endpoint(&mut self.out, summary, side);
        self.out.push(b'"');
    }

    fn flag(&mut self, key: Key, value: Option<bool>) {
        self.key(key);
        self.out.extend_from_slice(match value {
            Some(true) => b"true",
            Some(false) => b"false",
            None => b"null",
        });
    }

    fn texts(&mut self, key: Key, values: &[String]) {
        self.key(key);
        self.list(values.iter(), |json, text| json.string(text));
    }

    fn reasons(&mut self, key: Key, reasons: &mut dyn Iterator<Item = (&'static str, &'static str)>) {
        self.key(key);
        self.out.push(b'{');
        self.first = true;
        for (field, reason) in reasons {
            self.string_key(field);
            self.string(reason);
        }
        self.end();
    }

    fn anomalies(&mut self, spacing: Option<&SpacingSummary>) {
        self.key(key!("anomalies"));
        let gaps = spacing.map_or(&[][..], |spacing| &spacing.gaps);
        self.array(gaps.iter(), |json, gap| {
            json.instant(key!("start_ns"), gap.start_ns);
            json.exact_seconds(key!("gap_s"), i64::try_from(gap.gap_ns).ok());
            json.text(key!("cause"), Some("unknown"));
            json.number(key!("confidence"), None);
            json.key(key!("frames"));
            json.list(gap.frames.into_iter(), |json, frame| push_unsigned(&mut json.out, u64::from(frame)));
        });
        let listed = gaps.len() as u64;
        self.integer(key!("anomalies_not_listed"), spacing.map(|spacing| spacing.oversize.saturating_sub(listed)));
    }

    fn unfilled(&mut self, key: Key, list: bool) {
        self.key(key);
        if list { self.out.extend_from_slice(b"[]") } else { self.null() }
    }
}

//! The JSON contract `vmtrace.analysis/1`, written as a stream: memory does not grow with the number of connections.

use std::io::{self, Write};

use crate::analysis::results::Analysis;
use crate::output::describe::document::{head, tail};
use crate::output::describe::endpoint::push_endpoint;
use crate::output::describe::names;
use crate::output::describe::visitor::{Common, Visitor};
use crate::output::fixed::{push_float, push_signed, push_unsigned, rounded};
use crate::output::json_connections::Wanted;
use crate::output::json_writer::Json;
use crate::output::key::{Key, key};
use crate::tcp::summary::summary::ConnectionSummary;

/// What the caller knows and the engine does not.
#[derive(Debug, Clone, Default)]
pub struct JsonHeader {
    /// Version of vmtrace.
    pub vmtrace_version: String,
    /// Paths of the inputs, in order.
    pub input_paths: Vec<String>,
    /// Only the connections of these numbers, in ascending order, if given; of none: the document without connections.
    pub only_connections: Option<Vec<u32>>,
    /// Limits are written interval by interval, too, or not; if not given, as the number of connections has it.
    pub with_intervals: Option<bool>,
}

/// With more connections their limits are reported in sum only, unless one is chosen.
const MOST_CONNECTIONS_WITH_RUNS: usize = 100;

impl Analysis {
    /// Writes everything as one JSON document.
    ///
    /// # Errors
    /// What `out` returns.
    pub fn write_json(&self, out: &mut dyn Write, header: &JsonHeader) -> io::Result<()> {
        let only = header.only_connections.as_deref();
        let are_few = || only.map_or(self.connections.len(), <[u32]>::len) <= MOST_CONNECTIONS_WITH_RUNS;
        let with_runs = header.with_intervals.unwrap_or_else(are_few);
        let mut json = Json::new(with_runs);
        json.out.push(b'{');
        head(self, &header.vmtrace_version, &header.input_paths, &mut json);
        let lookup_of = names::of_connections(self, &names::listed(&self.resolutions.list));
        json.key(key!("connections"));
        json.out.push(b'[');
        Wanted { only, lookup_of }.write(self, &mut json, out)?;
        json.close(b']');
        // What is about all connections stands in the document of all, and in that without any.
        tail(self, only.is_none_or(<[u32]>::is_empty), &mut json);
        json.close(b'}');
        json.out.pop();
        json.out.push(b'\n');
        out.write_all(&json.out)
    }
}

impl Visitor for Json {
    #[inline(always)]
    fn object(&mut self, key: Key, present: bool) -> bool {
        match present {
            true => self.constant(key.texts().object),
            false => self.constant(key.texts().null),
        }
        present
    }

    #[inline(always)]
    fn optional_object(&mut self, key: Key, present: bool) -> bool {
        present && self.object(key, true)
    }

    fn known_instant(&mut self, key: Key, value: Option<i64>) {
        self.member(key, value, None, |json, value| push_signed(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn end(&mut self) {
        self.close(b'}');
    }

    #[inline(always)]
    fn integer(&mut self, key: Key, value: Option<u64>) {
        let unset = (value == Some(0)).then_some(key.texts().zero);
        self.member(key, value, unset, |json, value| push_unsigned(&mut json.out, value, b','));
    }

    #[inline]
    fn instant(&mut self, key: Key, value: i64) {
        self.member(key, Some(value), None, |json, value| push_signed(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn seconds(&mut self, key: Key, value_ns: Option<f64>) {
        self.exact_seconds(key, value_ns.filter(|value| value.abs() < 9e18).map(rounded));
    }

    #[inline(always)]
    fn exact_seconds(&mut self, key: Key, value_ns: Option<i64>) {
        let unset = (value_ns == Some(0)).then_some(key.texts().zero_float);
        self.member(key, value_ns, unset, |json, value| json.seconds.push(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn number(&mut self, key: Key, value: Option<f64>) {
        let unset = (value == Some(0.0)).then_some(key.texts().zero_float);
        self.member(key, value, unset, |json, value| push_float(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn word(&mut self, key: Key, value: Option<&'static str>) {
        match value {
            Some(word) => {
                self.constant(key.texts().word);
                self.word_end(word);
            }
            None => self.member(key, value, None, Self::word_item),
        }
    }

    #[inline]
    fn text(&mut self, key: Key, value: Option<&str>) {
        self.member(key, value, None, Self::text_item);
    }

    fn endpoint(&mut self, key: Key, summary: &ConnectionSummary, side: usize) {
        self.key(key);
        self.out.push(b'"');
        push_endpoint(&mut self.out, summary, side, b'"');
        self.out.push(b',');
    }

    #[inline(always)]
    fn flag(&mut self, key: Key, value: Option<bool>) {
        let unset = (value == Some(false)).then_some(key.texts().no);
        self.member(key, value, unset, |json, _| json.constant("true,"));
    }

    fn texts(&mut self, key: Key, values: &[String]) {
        if key.is_written(!values.is_empty(), !values.is_empty()) {
            self.list(key, values.iter(), |json, text| json.text_item(text));
        }
    }

    #[inline]
    fn reasons(&mut self, key: Key, reasons: impl Iterator<Item = (&'static str, &'static str)>) {
        let start = self.out.len();
        self.key(key);
        self.out.push(b'{');
        let first = self.out.len();
        for (field, reason) in reasons {
            self.out.push(b'"');
            self.out.extend_from_slice(field.as_bytes());
            self.out.extend_from_slice(b"\":");
            self.word_item(reason);
        }
        let any = self.out.len() > first;
        if key.is_written(any, any) {
            self.close(b'}');
        } else {
            self.out.truncate(start);
        }
    }

    fn integers(&mut self, key: Key, values: impl Iterator<Item = u64>) {
        self.list(key, values, |json, value| push_unsigned(&mut json.out, value, b','));
    }

    fn instants(&mut self, key: Key, values: impl Iterator<Item = i64>) {
        self.list(key, values, |json, value| push_signed(&mut json.out, value, b','));
    }

    fn words(&mut self, key: Key, values: impl Iterator<Item = &'static str>) {
        self.list(key, values, Self::word_item);
    }

    fn counts<'a>(&mut self, key: Key, counts: impl Iterator<Item = (&'a str, u64)>) {
        self.object(key, true);
        for (name, count) in counts {
            self.string_key(name);
            push_unsigned(&mut self.out, count, b',');
        }
        self.end();
    }

    fn records<T>(
        &mut self,
        key: Key,
        items: Option<impl Iterator<Item = T>>,
        mut describe: impl FnMut(Option<T>, &mut Self),
    ) {
        self.member(key, items, None, |json, items| {
            json.out.push(b'[');
            for item in items {
                json.out.push(b'{');
                describe(Some(item), json);
                json.close(b'}');
            }
            json.close(b']');
        });
    }

    fn wants_long_lists(&self) -> bool {
        self.with_runs
    }

    #[inline]
    fn part(&mut self, common: Option<Common>, describe: impl FnOnce(&mut Self)) {
        let Some(common) = common else { return describe(self) };
        if self.common[common as usize].is_empty() {
            let start = self.out.len();
            describe(self);
            self.common[common as usize] = self.out.split_off(start);
        }
        self.out.extend_from_slice(&self.common[common as usize]);
    }
    #[inline(always)]
    fn seldom(&mut self, any: bool, describe: impl FnOnce(&mut Self)) {
        if any {
            describe(self);
        }
    }
}

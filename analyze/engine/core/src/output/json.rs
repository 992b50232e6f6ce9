//! The JSON contract `vmtrace.analysis/1`, written as a stream: memory does not grow with the number of connections.

use std::io::{self, Write};

use crate::analysis::results::{Analysis, InputSummary};
use crate::output::describe::connection::connection;
use crate::output::describe::endpoint::{push_address, push_endpoint};
use crate::output::describe::requests::server as describe_server;
use crate::output::describe::visitor::{Common, Visitor};
use crate::output::fixed::{push_fixed, push_float, push_signed, push_unsigned, rounded, thousandths};
use crate::output::json_writer::Json;
use crate::output::key::{Key, key};
use crate::output::link_names::link_type_name;
use crate::output::outcomes::{write_icmp_errors, write_outcome, write_outcomes};
use crate::output::shared_limits::write_shared_limits;
use crate::tcp::events::factor::Factor;
use crate::tcp::limits::summary::LimitsSummary;
use crate::tcp::requests::summary::RequestSummary;
use crate::tcp::summary::ending::IcmpErrors;
use crate::tcp::summary::not_measured::REASONS;
use crate::tcp::summary::summary::{ConnectionSummary, SpacingSummary};

/// The contract's name.
pub const SCHEMA: &str = "vmtrace.analysis/1";

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

/// Bytes gathered before they are written: few enough that a writer which copies them finds them in a near cache.
const BUFFER_BYTES: usize = 64 << 10;

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
        let out_bytes = Vec::with_capacity(BUFFER_BYTES + 16_384);
        let mut json = Json { out: out_bytes, common: Default::default(), with_runs };
        json.out.push(b'{');
        json.text(key!("schema"), Some(SCHEMA));
        json.text(key!("vmtrace"), Some(&header.vmtrace_version));
        json.flag(key!("interrupted"), Some(self.interrupted));
        json.reasons(key!("reasons"), REASONS.into_iter());
        json.array(key!("inputs"), self.inputs.iter().enumerate(), |json, (index, input)| {
            input_object(json, input, header.input_paths.get(index).map_or("", String::as_str));
        });
        write_outcomes(&mut json, &self.connections);
        json.key(key!("connections"));
        json.out.push(b'[');
        let wanted = |id: u32| only.is_none_or(|only| only.binary_search(&id).is_ok());
        let mut connections = self.connections.iter().filter(|summary| wanted(summary.id)).peekable();
        while let Some(summary) = connections.next() {
            // Summaries of many connections are in no cache: the next one is fetched while this one is written.
            if let Some(next) = connections.peek() {
                next.touch();
            }
            // What is written goes out before the last comma, which the end of the list may have to replace.
            if json.out.len() >= BUFFER_BYTES {
                let comma = json.out.pop();
                out.write_all(&json.out)?;
                json.out.clear();
                json.out.extend(comma);
            }
            json.out.extend_from_slice(b"\n{");
            connection(summary, &mut json);
            json.close(b'}');
        }
        json.close(b']');
        write_shared_limits(&mut json, &self.shared_limits);
        // What is about all connections stands in the document of all, and in that without any.
        if only.is_none_or(<[u32]>::is_empty) {
            self.request_servers(&mut json);
        }
        json.close(b'}');
        json.out.pop();
        json.out.push(b'\n');
        out.write_all(&json.out)
    }
}

impl Analysis {
    /// Servers that were asked; nothing where nobody was.
    fn request_servers(&self, json: &mut Json) {
        let list = self.servers().into_list();
        if list.is_empty() {
            return;
        }
        json.array(key!("request_servers"), list.iter(), |json, (key, server)| {
            json.key(key!("server"));
            json.out.push(b'"');
            push_address(&mut json.out, key, b'"');
            json.out.push(b',');
            describe_server(server, json);
        });
    }
}

fn input_object(json: &mut Json, input: &InputSummary, path: &str) {
    let facts = &input.facts;
    json.text(key!("path"), Some(path));
    json.text(key!("format"), Some(facts.format).filter(|format| !format.is_empty()));
    json.text(key!("compression"), facts.compression);
    json.list(key!("link_types"), facts.link_types.iter(), |json, &link_type| {
        json.text_item(&link_type_name(link_type))
    });
    let resolution_ns = i64::try_from(facts.time_resolution_ns).ok().filter(|ns| *ns > 0);
    json.exact_seconds(key!("time_resolution_s"), resolution_ns);
    json.integer(key!("packets"), Some(facts.packets));
    json.integer(key!("tcp_packets"), Some(input.tcp_packets));
    json.integer(key!("captured_bytes"), Some(facts.captured_bytes));
    json.integer(key!("wire_bytes"), Some(facts.wire_bytes));
    json.integer(key!("snap_length_bytes"), facts.snap_length.map(u64::from));
    json.known_instant(key!("start_ns"), facts.start_ns);
    json.known_instant(key!("end_ns"), facts.end_ns);
    json.object(key!("undecoded_packets"), true);
    for (reason, count) in &input.undecoded {
        json.string_key(reason);
        push_unsigned(&mut json.out, *count, b',');
    }
    json.end();
    json.array(key!("damage"), facts.damage.iter(), |json, damage| {
        json.integer(key!("offset"), Some(damage.offset));
        json.integer(key!("skipped_bytes"), Some(damage.skipped_bytes));
        json.text(key!("what"), Some(&damage.what));
    });
    let disorder = facts.out_of_time_order;
    json.object(key!("out_of_time_order"), true);
    json.integer(key!("records"), Some(disorder.records));
    json.exact_seconds(key!("largest_step_s"), (disorder.records > 0).then_some(disorder.largest_step_ns));
    json.integer(key!("left"), Some(disorder.left));
    json.end();
    json.object(key!("capture"), true);
    json.integer(key!("dropped_by_kernel"), facts.dropped_by_kernel);
    json.integer(key!("dropped_by_interface"), facts.dropped_by_interface);
    json.integer(key!("packets_without_time"), Some(facts.packets_without_time));
    json.integer(key!("unseen_acked_bytes"), input.unseen_acked_bytes);
    let one_direction = Some(input.one_direction_connections).filter(|count| *count > 0);
    json.integer(key!("one_direction_connections", IfKnown), one_direction);
    json.integer(key!("duplicates"), Some(input.duplicates));
    json.integer(key!("reordered"), Some(input.reordered));
    json.integer(key!("clock_steps"), Some(input.clock_steps));
    json.exact_seconds(key!("lag_s", IfKnown), input.lag_ns);
    json.flag(key!("lag_removed", IfKnown), input.lag_ns.map(|_| input.lag_removed));
    json.exact_seconds(key!("clock_offset_s", IfKnown), facts.clock_offset_ns);
    json.flag(key!("copies_may_be_missed", IfKnown), facts.copies_may_be_missed.then_some(true));
    json.end();
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

    fn frames(&mut self, key: Key, frames: Option<[u32; 2]>) {
        self.list(key, frames.into_iter().flatten(), |json, frame| {
            push_unsigned(&mut json.out, u64::from(frame), b',');
        });
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
        self.member(key, value_ns, unset, |json, value| push_fixed::<9>(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn number(&mut self, key: Key, value: Option<f64>) {
        let unset = (value == Some(0.0)).then_some(key.texts().zero_float);
        self.member(key, value, unset, |json, value| push_float(&mut json.out, value, b','));
    }

    #[inline(always)]
    fn word(&mut self, key: Key, value: Option<&'static str>) {
        self.member(key, value, None, Self::word_item);
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

    fn anomalies(&mut self, spacing: Option<&SpacingSummary>) {
        let gaps = spacing.map_or(&[][..], SpacingSummary::gaps);
        self.array(key!("anomalies"), gaps.iter(), |json, gap| {
            json.instant(key!("start_ns"), gap.start_ns);
            json.exact_seconds(key!("gap_s"), i64::try_from(gap.gap_ns).ok());
            json.word(key!("cause"), Some(gap.cause.name()));
            json.number(key!("confidence"), Some(gap.confidence));
            json.list(key!("frames"), gap.frames.into_iter(), |json, frame| {
                push_unsigned(&mut json.out, u64::from(frame), b',');
            });
        });
        let listed = gaps.len() as u64;
        let not_listed = spacing.map(|spacing| spacing.oversize().count.saturating_sub(listed));
        self.integer(key!("anomalies_not_listed", IfSet), not_listed);
    }

    fn limits(&mut self, limits: Option<&LimitsSummary>) {
        let list = limits.map(LimitsSummary::list).unwrap_or_default();
        self.array(key!("limits"), list.iter(), |json, limit| {
            json.word(key!("factor"), Some(limit.factor.name()));
            json.exact_seconds(key!("time_s"), i64::try_from(limit.time_ns).ok());
            json.number(key!("fraction"), Some(limit.fraction));
            json.integer(key!("lost_bytes"), limit.lost_bytes);
        });
        let runs = limits.filter(|_| self.with_runs).map_or(&[][..], |limits| &limits.runs);
        if !runs.is_empty() {
            self.array(key!("limit_intervals"), runs.iter(), |json, run| {
                json.instant(key!("start_ns"), run.start_ns);
                json.instant(key!("end_ns"), run.end_ns);
                json.word(key!("factor"), Some(run.factor.name()));
                json.integer(key!("bytes"), Some(run.bytes));
                json.list(key!("frames"), run.frames.into_iter(), |json, frame| {
                    push_unsigned(&mut json.out, u64::from(frame), b',');
                });
            });
        }
    }

    fn requests(&mut self, requests: Option<&RequestSummary>) {
        let Some(requests) = requests else { return self.constant(key!("requests").texts().null) };
        let seconds = |value_ns: u64| i64::try_from(value_ns).ok();
        self.array(key!("requests"), requests.longest.list.iter(), |json, exchange| {
            json.instant(key!("start_ns"), exchange.start.0);
            json.integer(key!("request_bytes"), Some(exchange.request_bytes));
            json.exact_seconds(key!("request_s"), seconds(exchange.request_ns));
            json.exact_seconds(key!("first_byte_s"), seconds(exchange.first_byte_ns));
            json.integer(key!("response_bytes"), Some(exchange.response_bytes));
            json.exact_seconds(key!("duration_s"), seconds(exchange.duration_ns()));
            let [first, last] = exchange.frames;
            json.list(key!("frames"), [exchange.start.1, first, last].into_iter(), |json, frame| {
                push_unsigned(&mut json.out, u64::from(frame), b',');
            });
        });
    }

    fn verdict(&mut self, summary: &ConnectionSummary) {
        let verdict = summary.verdict();
        let present = self.object(key!("verdict"), verdict.is_some());
        let Some(verdict) = verdict.filter(|_| present) else { return };
        self.word(key!("direction"), Some(["client_to_server", "server_to_client"][verdict.side & 1]));
        self.word(key!("factor"), Some(verdict.factor.name()));
        self.number(key!("share"), Some(thousandths(verdict.share)));
        self.word(key!("runner_up"), verdict.runner_up.map(Factor::name));
        self.number(key!("confidence"), Some(thousandths(verdict.confidence)));
        self.text(key!("sentence"), Some(&verdict.sentence));
        self.evidence(&verdict.evidence);
        self.array(key!("what_if"), verdict.what_if.iter(), |json, what_if| {
            json.text(key!("change"), Some(what_if.change));
            let known = what_if.predicted.as_ref().ok();
            let rates = known.map(|known| [known.goodput_bps, known.low_bps, known.now_bps].map(|bps| bps as u64));
            json.integer(key!("goodput_bps"), rates.map(|[middle, ..]| middle));
            json.integer(key!("low_bps"), rates.map(|[_, low, _]| low));
            json.integer(key!("high_bps"), known.and_then(|known| known.high_bps).map(|bps| bps as u64));
            json.integer(key!("now_bps"), rates.map(|[.., now]| now));
            json.word(key!("bound"), known.map(|known| known.bound.name()));
            json.word(key!("reason"), what_if.predicted.as_ref().err().map(|why| why.reason()));
        });
        self.list(key!("undetermined_between"), verdict.undetermined_between.iter(), |json, factor| {
            json.word_item(factor.name());
        });
        self.end();
    }

    fn outcome(&mut self, summary: &ConnectionSummary) {
        write_outcome(self, summary);
    }

    fn icmp_errors(&mut self, errors: Option<&IcmpErrors>) {
        write_icmp_errors(self, errors);
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

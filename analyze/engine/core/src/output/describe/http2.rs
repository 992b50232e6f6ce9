//! HTTP/2 of a connection. Windows are those of the side that sent more data.

use crate::http2::Http2Summary;
use crate::output::describe::visitor::Visitor;
use crate::output::key::key;

pub(super) fn http2(found: Option<&Http2Summary>, visitor: &mut impl Visitor) {
    if !visitor.optional_object(key!("http2"), found.is_some()) {
        return;
    }
    let sender = found.map(|http2| usize::from(http2.windows[0].data_bytes <= http2.windows[1].data_bytes));
    let window = found.zip(sender).and_then(|(http2, sender)| http2.windows.get(sender));
    let side = |side: usize| if side == 0 { "client" } else { "server" };
    visitor.integer(key!("streams"), found.map(|http2| http2.streams));
    visitor.word(key!("data_sender"), sender.map(side));
    visitor.integer(key!("data_bytes"), window.map(|window| window.data_bytes));
    let initial = window.and_then(|window| window.initial_window_bytes);
    visitor.integer(key!("initial_window_bytes"), initial.map(u64::from));
    visitor.exact_seconds(key!("window_limited_s"), window.map(|window| window.limited_ns));
    visitor.integer(key!("window_limited_times"), window.map(|window| window.times));
    visitor.integer(key!("connection_window_limited_times"), window.map(|window| window.times_of_connection));
    let goaway = found.and_then(|http2| http2.goaway);
    if visitor.object(key!("goaway"), goaway.is_some()) {
        visitor.integer(key!("code"), goaway.map(|goaway| u64::from(goaway.code)));
        visitor.word(key!("side"), goaway.map(|goaway| side(goaway.side)));
        visitor.integer(key!("last_stream"), goaway.map(|goaway| u64::from(goaway.last_stream)));
        visitor.known_instant(key!("time_ns"), goaway.map(|goaway| goaway.time_ns));
        visitor.end();
    }
    let resets: Vec<(String, u64)> =
        found.into_iter().flat_map(|http2| &http2.resets).map(|(code, count)| (code.to_string(), *count)).collect();
    visitor.counts(key!("resets"), resets.iter().map(|(code, count)| (code.as_str(), *count)));
    visitor.integer(key!("pings"), found.map(|http2| http2.pings));
    visitor.flag(key!("complete"), found.map(|http2| http2.complete));
    visitor.end();
}

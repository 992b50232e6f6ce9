//! HTTP/2 of a connection.

use crate::output::fields::field::{Section, field};

pub(super) const HTTP2: Section = Section {
    name: "http2",
    at: &["connections[].http2"],
    fields: &[
        field("streams", "streams that were opened"),
        field("data_sender", "who sent more data: the windows are those of its data")
            .values(|| vec!["client", "server"]),
        field("data_bytes", "its DATA frames, padding included"),
        field("initial_window_bytes", "window of a new stream that its peer announced")
            .null("if it announced none: then 65,535"),
        field("window_limited_s", "time that it stood at a window ([methods.md](methods.md#http2-windows))"),
        field("window_limited_times", "how often"),
        field("connection_window_limited_times", "of these, at the window of the whole connection"),
        field("goaway", "the first GOAWAY with an error, else the first").null("without one"),
        field("goaway.code, goaway.last_stream", "as in the frame"),
        field("goaway.side", "who sent it").values(|| vec!["client", "server"]),
        field("goaway.time_ns", "when it passed"),
        field("resets", "RST_STREAM by code"),
        field("pings", "without replies"),
        field("complete", "both directions were read to their end"),
    ],
};

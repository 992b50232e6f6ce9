//! Why a connection was slow, what became of it, and the frames that show it.

use crate::output::fields::direction::factors;
use crate::output::fields::field::{Section, field};
use crate::tcp::events::outcome_kind::OutcomeKind;

pub(super) const VERDICT: Section = Section {
    name: "verdict",
    at: &["connections[].verdict"],
    fields: &[
        field(
            "direction",
            "which data it is about: the direction with more payload, retransmissions left out; the client's if they are even",
        )
        .values(|| vec!["client_to_server", "server_to_client"]),
        field("factor", "what held the transfer back most").values(factors),
        field(
            "share",
            "its share of the bytes lost; where nothing was lost to speak of, of the bytes delivered",
        )
        .share(),
        field("runner_up", "the next factor").values(factors).null("if there is none"),
        field("confidence", "how sure that is").share(),
        field("saves_s", "by how much shorter the transfer would have been without it ([verdict.md](verdict.md#savings))")
            .null("if no rate is known"),
        field("sentence", "the verdict for a person"),
        field("evidence", "the packets that prove it"),
        field(
            "what_if",
            "the transfer replayed with one thing changed ([verdict.md](verdict.md#what-if)); a change that would bring nothing is not listed",
        ),
        field("what_if[].change", "what is changed"),
        field(
            "what_if[].goodput_bps",
            "payload without retransmissions over the time from the first packet to the last data",
        )
        .null("without a prediction"),
        field("what_if[].low_bps", "lower end of the interval").null("without a prediction"),
        field("what_if[].high_bps", "upper end of the interval").null("where nothing bounds the prediction"),
        field("what_if[].now_bps", "what it was without the change, over the same time").null("without a prediction"),
        field("what_if[].bound", "what the interval means: `exact`, `at_least` (`high_bps` is null), `at_most`")
            .values(|| vec!["exact", "at_least", "at_most"])
            .null("without a prediction"),
        field("what_if[].reason", "why there is no prediction").null("if there is one"),
        field("undetermined_between", "the candidates where `confidence` is below 0.6; else empty").values(factors),
    ],
};

pub(super) const OUTCOME: Section = Section {
    name: "outcome",
    at: &["connections[].outcome"],
    fields: &[
        field("kind", "what became of it").values(|| OutcomeKind::ALL.map(OutcomeKind::name).to_vec()),
        field("sentence", "the outcome for a person"),
        field("confidence", "how sure that is").share(),
        field("evidence", "the packets that prove it"),
        field("remedy", "what would help, or where to look next"),
    ],
};

pub(super) const EVIDENCE: Section = Section {
    name: "evidence",
    at: &["connections[].verdict.evidence[]", "connections[].outcome.evidence[]"],
    fields: &[
        field("text", "what they show"),
        field("frames", "their numbers"),
        field(
            "times_ns",
            "the moments that they stand for: when a packet passed, or the end of an interval of which it is the nearest packet known. In captures that were merged, frames of several files have the same number; the moments tell them apart",
        ),
        field("display_filter", "a Wireshark filter for them"),
    ],
};

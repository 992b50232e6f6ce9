//! What was retransmitted, lost and reordered in a direction.

use crate::output::describe::visitor::{Common, Visitor};
use crate::output::key::{Key, key};
use crate::tcp::events::retransmission::Trigger;
use crate::tcp::loss::bursts::LossBursts;
use crate::tcp::summary::summary::{AcknowledgementLoss, DirectionDetails, DirectionSummary};

/// Classes of [`LossBursts::lengths`], in segments.
const BURST_LENGTHS: [Key; 6] = [
    key!("1", IfSet),
    key!("2", IfSet),
    key!("3", IfSet),
    key!("4_to_7", IfSet),
    key!("8_to_15", IfSet),
    key!("16_or_more", IfSet),
];

pub(super) fn loss(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    visitor.object(key!("loss"), true);
    let is_common = summary.loss.is_clean() && !summary.is_unseen();
    visitor.part(is_common.then_some(Common::NoLoss), |visitor| loss_counters(summary, visitor));
    visitor.integer(key!("lost_after_capture_segments"), summary.lost_behind().filter(|_| !summary.is_unseen()));
    visitor.integer(key!("lost_segments_ipid"), summary.lost_by_identification.get());
    visitor.number(key!("retransmission_rate"), summary.retransmission_rate());
    visitor.number(key!("loss_rate"), summary.loss_rate());
    visitor.word(key!("caveat", IfKnown), summary.caveat());
    let bad_checksums = Some(u64::from(summary.loss.bad_checksums)).filter(|&bad| bad > 0);
    visitor.integer(key!("bad_checksums", IfKnown), bad_checksums);
    let details = summary.details.as_deref();
    visitor.seldom(details.is_some(), |visitor| loss_details(details, summary, visitor));
    visitor.end();
}

fn loss_details(details: Option<&DirectionDetails>, summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let bursts = details.and_then(|details| details.bursts.as_ref()).filter(|_| summary.knows_losses());
    let events = bursts.filter(|_| summary.beside_sender).map(|bursts| bursts.events);
    visitor.integer(key!("loss_events", IfKnown), events.map(u64::from));
    visitor.number(
        key!("loss_event_rate", IfKnown),
        events.map(|events| f64::from(events) / summary.data_segments.max(1) as f64),
    );
    if visitor.optional_object(key!("bursts", IfKnown), bursts.is_some()) {
        visitor.integer(key!("count"), bursts.map(LossBursts::count));
        visitor.number(key!("mean_segments"), bursts.and_then(LossBursts::mean_segments));
        visitor.integer(key!("longest_segments"), bursts.map(|bursts| u64::from(bursts.longest)));
        visitor.number(key!("ratio"), bursts.and_then(|bursts| bursts.ratio(summary.loss_rate().unwrap_or(0.0))));
        visitor.object(key!("lengths"), true);
        for (class, key) in BURST_LENGTHS.into_iter().enumerate() {
            visitor.integer(key, bursts.map(|bursts| u64::from(bursts.lengths[class])));
        }
        visitor.end();
        visitor.end();
    }
    let acknowledgements = details.and_then(|details| details.acknowledgements);
    visitor.integer(key!("lost_acknowledgements_ipid", IfKnown), acknowledgements.map(|both| both.lost));
    visitor.number(
        key!("acknowledgement_loss_rate", IfKnown),
        acknowledgements.as_ref().and_then(AcknowledgementLoss::rate),
    );
}

fn loss_counters(summary: &DirectionSummary, visitor: &mut impl Visitor) {
    let counters = &summary.loss;
    let is_seen = !summary.is_unseen();
    let count = |value: u32| is_seen.then_some(u64::from(value));
    let trigger = |trigger: Trigger| count(counters.by_trigger[trigger as usize]);
    visitor.integer(key!("retransmitted_segments"), count(counters.retransmitted));
    visitor.integer(key!("retransmitted_bytes"), is_seen.then_some(counters.retransmitted_bytes));
    visitor.object(key!("by_trigger"), true);
    visitor.integer(key!("fast"), trigger(Trigger::Fast));
    visitor.integer(key!("rto"), trigger(Trigger::Rto));
    visitor.integer(key!("tlp"), trigger(Trigger::Tlp));
    visitor.integer(key!("rack"), trigger(Trigger::Rack));
    visitor.integer(key!("syn"), count(counters.syn));
    visitor.integer(key!("fin"), count(counters.fin));
    visitor.integer(key!("probe"), count(counters.probes));
    visitor.integer(key!("unknown"), trigger(Trigger::Unknown));
    visitor.end();
    let known = |value: u64| (is_seen && summary.knows_losses()).then_some(value);
    visitor.integer(key!("spurious_segments"), known(u64::from(counters.spurious)));
    visitor.integer(key!("reordered_segments"), count(counters.reordered));
    visitor.integer(key!("network_duplicates"), count(counters.network_duplicates));
    visitor.integer(key!("lost_segments_inferred"), known(summary.lost_inferred()));
    visitor.integer(key!("sack_blocks_beyond_sent"), count(counters.sacked_beyond_sent));
    visitor.integer(key!("unacceptable_packets"), count(counters.unacceptable));
}

//! Why a connection was slow.

use crate::output::describe::evidence::evidence;
use crate::output::describe::visitor::Visitor;
use crate::output::fixed::thousandths;
use crate::output::key::key;
use crate::tcp::events::factor::Factor;
use crate::tcp::verdict::case::Verdict;

pub(super) fn verdict(verdict: Option<&Verdict>, visitor: &mut impl Visitor) {
    if !visitor.object(key!("verdict"), verdict.is_some()) {
        return;
    }
    let direction = |verdict: &Verdict| ["client_to_server", "server_to_client"][verdict.side & 1];
    visitor.word(key!("direction"), verdict.map(direction));
    visitor.word(key!("factor"), verdict.map(|verdict| verdict.factor.name()));
    visitor.number(key!("share"), verdict.map(|verdict| thousandths(verdict.share)));
    visitor.word(key!("runner_up"), verdict.and_then(|verdict| verdict.runner_up).map(Factor::name));
    visitor.number(key!("confidence"), verdict.map(|verdict| thousandths(verdict.confidence)));
    let saves_ns = verdict.and_then(|verdict| verdict.saves_ns);
    visitor.exact_seconds(key!("saves_s"), saves_ns.and_then(|ns| i64::try_from(ns).ok()));
    visitor.text(key!("sentence"), verdict.map(|verdict| verdict.sentence.as_str()));
    evidence(verdict.map_or(&[], |verdict| &verdict.evidence), visitor);
    what_if(verdict, visitor);
    let candidates = verdict.into_iter().flat_map(|verdict| &verdict.undetermined_between);
    visitor.words(key!("undetermined_between"), candidates.map(|factor| factor.name()));
    visitor.end();
}

fn what_if(verdict: Option<&Verdict>, visitor: &mut impl Visitor) {
    let list = verdict.map_or(&[][..], |verdict| &verdict.what_if);
    visitor.records(key!("what_if"), Some(list.iter()), |what_if, visitor| {
        let predicted = what_if.map(|what_if| what_if.predicted.as_ref());
        let known = predicted.and_then(Result::ok);
        let rates = known.map(|known| [known.goodput_bps, known.low_bps, known.now_bps].map(|bps| bps as u64));
        visitor.text(key!("change"), what_if.map(|what_if| what_if.change));
        visitor.integer(key!("goodput_bps"), rates.map(|[middle, ..]| middle));
        visitor.integer(key!("low_bps"), rates.map(|[_, low, _]| low));
        visitor.integer(key!("high_bps"), known.and_then(|known| known.high_bps).map(|bps| bps as u64));
        visitor.integer(key!("now_bps"), rates.map(|[.., now]| now));
        visitor.word(key!("bound"), known.map(|known| known.bound.name()));
        visitor.word(key!("reason"), predicted.and_then(Result::err).map(|why| why.reason()));
    });
}

//! The limiting factors: a file each, which declares when it limits a round, words, remedy and bounds of confidence.
//!
//! ```text
//! rule         what each declares, and what several share (doubts: of what else it may be; waits: between messages)
//! setup, slow_start, idle                      how far the transfer was
//! host_stall, application, send_buffer         the hosts
//! receiver_window, congestion_window           the windows
//! timeout_wait, loss_recovery                  losses
//! token_bucket, bottleneck_bandwidth, ack_path_full, unknown  the path
//! ```
//!
//! Their list is [`crate::tcp::events::factor`]: a line there and a file here are all that a factor needs. Those without a condition
//! for rounds are found by the causes of pauses ([`crate::tcp::gaps::cause`]) or by [`crate::tcp::limits`] itself.

pub(crate) mod doubts;
pub mod rule;
mod waits;

use std::sync::LazyLock;

use crate::tcp::events::factor::{Factor, with_factors};
use crate::tcp::limits::rules::RoundRule;
use crate::tcp::limits::second_stage::Reassignment;
use crate::tcp::limits::sharing;
use crate::tcp::summary::decision::Decision;
use crate::tcp::verdict::factors::rule::FactorRule;

macro_rules! declare {
    ($($(#[$only:meta])* $variant:ident => $name:ident, $shows_capacity:literal, $whose:expr, $holder:expr, $says:literal;)+) => {
        $($(#[$only])* pub mod $name;)+

        /// All of them, in the order of their numbers.
        pub static RULES: [FactorRule; Factor::COUNT] = [$($(#[$only])* $name::RULE),+];
    };
}

with_factors!(declare);

/// What a factor declares.
pub fn rule(factor: Factor) -> &'static FactorRule {
    &RULES[factor as usize]
}

/// What a limit that connections share is.
pub(crate) fn shared_as(is_bucket: bool) -> Option<Factor> {
    let is_it = |rule: &&FactorRule| rule.shared.is_some_and(|shared| shared.is_bucket == is_bucket);
    RULES.iter().find(is_it).map(|rule| rule.factor)
}

/// The factor of a decision, and what it may be instead.
pub fn candidates(decision: &Decision) -> Vec<Factor> {
    let other = rule(decision.factor).beside.or(decision.runner_up);
    [Some(decision.factor), other].into_iter().flatten().collect()
}

/// What limits a round, in the order in which it is asked.
pub fn round_rules() -> &'static [RoundRule] {
    static ASKED: LazyLock<Vec<RoundRule>> = LazyLock::new(|| {
        let of = |rule: &'static FactorRule| {
            rule.in_rounds.iter().map(|&condition| RoundRule { factor: rule.factor, condition })
        };
        let mut rules: Vec<RoundRule> = RULES.iter().flat_map(of).collect();
        rules.sort_by_key(|rule| rule.condition.turn);
        rules
    });
    &ASKED
}

/// What changes the time by factor once rounds were judged, in the order in which it runs.
///
/// Rule: docs/verdict.md, "The second stage".
pub fn reassignments() -> &'static [Reassignment] {
    static RUN: LazyLock<Vec<Reassignment>> = LazyLock::new(|| {
        let of_factors = RULES.iter().flat_map(|rule| rule.in_second_stage);
        let mut rules: Vec<Reassignment> = of_factors.chain(&sharing::OF_OTHERS).copied().collect();
        rules.sort_by_key(|rule| rule.turn);
        rules
    });
    &RUN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::limits::second_stage::{Facts, reassign};
    use crate::tcp::limits::summary::LimitsSummary;

    const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/verdict.md");

    #[test]
    fn each_reassignment_has_one_heading_and_stands_in_the_list_of_the_document_in_this_order() {
        let document = std::fs::read_to_string(DOCUMENT).expect("the document");
        let (_, listed) = document.split_once("### The second stage").expect("the heading");
        let mut rest = listed;
        for rule in reassignments().iter().filter(|rule| rule.heading != made_up::HEADING) {
            assert_eq!(document.matches(&format!("\n### {}\n", rule.heading)).count(), 1, "{}", rule.heading);
            let (_, behind) = rest.split_once(&format!("[{}]", rule.heading)).expect(rule.heading);
            rest = behind;
        }
        let turns: Vec<u8> = reassignments().iter().map(|rule| rule.turn).collect();
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]), "{turns:?}");
    }

    #[test]
    fn without_facts_nothing_is_changed() {
        let mut limits = LimitsSummary { reference_bytes_s: Some(1e6), ..LimitsSummary::default() };
        let before = format!("{limits:?}");
        reassign(reassignments(), &mut limits, &Facts::default());
        assert_eq!(format!("{limits:?}"), before);
    }

    #[test]
    fn each_factor_declares_itself_at_its_number() {
        for factor in Factor::ALL {
            assert_eq!(rule(factor).factor, factor);
            assert!(![rule(factor).in_words, rule(factor).labels.list].contains(&""), "{factor:?}");
        }
    }

    #[test]
    fn no_two_conditions_of_a_round_have_one_turn_and_the_last_always_holds() {
        let turns: Vec<u8> = round_rules().iter().map(|rule| rule.condition.turn).collect();
        assert!(turns.windows(2).all(|pair| pair[0] < pair[1]), "{turns:?}");
        assert_eq!(round_rules().last().map(|rule| rule.factor), Some(Factor::CongestionWindow));
    }
}

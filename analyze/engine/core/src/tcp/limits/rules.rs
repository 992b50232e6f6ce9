//! What limited a round of which no pause, no loss and no handshake says it already: conditions asked one after the other.
//! Each looks at the rounds around it. They stand in [`crate::tcp::limits::application`], [`crate::tcp::limits::bottleneck`] and
//! [`crate::tcp::limits::send_buffer`]; which factor asks which of them is declared by the factors (`verdict::factors`).

use crate::tcp::events::factor::Factor;
use crate::tcp::limits::background::Background;
use crate::tcp::limits::known::KnownRound;

/// When a factor limits a round.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    /// The lower, the earlier it is asked: the first condition that holds decides.
    pub turn: u8,
    /// It holds for the round of this index.
    pub holds: fn(&[KnownRound], usize, &Background) -> bool,
    /// While the congestion window still grows exponentially, that is what limits, and this only lies beneath.
    pub beneath_slow_start: bool,
}

/// A condition with its factor.
#[derive(Debug, Clone, Copy)]
pub struct RoundRule {
    /// The factor.
    pub factor: Factor,
    /// When it limits.
    pub condition: Condition,
}

/// The factor of `rounds[index]` outside of its pauses, its recovery and its idle time; and what it would be without slow
/// start. `rules` are in the order of their turns.
pub fn factors(rules: &[RoundRule], rounds: &[KnownRound], index: usize, background: &Background) -> [Factor; 2] {
    let found = rules.iter().find(|rule| (rule.condition.holds)(rounds, index, background));
    let (Some(round), Some(RoundRule { factor, condition })) = (rounds.get(index), found) else {
        return [Factor::Unknown; 2];
    };
    [if condition.beneath_slow_start && round.slow_start { Factor::SlowStart } else { *factor }, *factor]
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::tcp::limits::background::any_window;
    use crate::tcp::limits::known::KnownRound;
    use crate::tcp::limits::round::Round;
    use proptest::prelude::*;

    /// Rounds one after another: bytes, milliseconds, largest flight, and whether a host stalled.
    pub(in crate::tcp::limits) fn rounds(list: &[(u64, i64, u64, bool)]) -> Vec<KnownRound> {
        let mut start_ns = 0;
        let mut next = |&(delivered_bytes, duration_ms, max_flight, disturbed): &(u64, i64, u64, bool)| {
            let end_ns = start_ns + duration_ms * 1_000_000;
            let round = Round { start_ns, end_ns, delivered_bytes, max_flight, disturbed, ..Round::default() };
            start_ns = end_ns;
            KnownRound::from(round)
        };
        list.iter().map(&mut next).collect()
    }

    proptest! {
        #[test]
        fn a_window_is_found_wherever_the_round_lies_in_it(
            list in prop::collection::vec((0u64..1, 1i64..2, 0u64..9, any::<bool>()), 1..40),
            index in 0usize..40,
            length in 1usize..13,
        ) {
            let rounds = rounds(&list);
            let each = |round: &KnownRound| round.max_flight > 0;
            let all = |window: &[KnownRound]| window[0].max_flight == 1;
            let is_one = |window: &[KnownRound]| window.iter().all(each) && all(window);
            let mut starts = index.saturating_sub(length - 1)..=index;
            let found = starts.any(|start| rounds.get(start..start + length).is_some_and(is_one));
            prop_assert_eq!(any_window(&rounds, index, length, each, all), found);
        }
    }
}

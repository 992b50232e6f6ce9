//! Why no data passed for a while: the rules of docs/methods.md, section 7.1, in one place. Pure: what
//! is known of a gap in, a cause and a confidence out. [`crate::tcp::gaps::evidence`] says what is known and what follows from the
//! numbers alone; [`crate::tcp::gaps::watch`] gathers it.
//!
//! Where the rules cannot tell a host that stalls from a path that holds packets, they say so ([`Cause::HostOrPath`]);
//! a host stall is only told where nothing else explains the gap.
//!
//! A rule is a function of the file of its idea, and a line of [`RULES`].
//!
//! ```text
//! capture, probes                   what the capture did; probes and timers that say what they wait for
//! held_back                         data or acknowledgements that had been made earlier
//! stalled_sender, stalled_receiver  a host that did not run
//! window, waiting, application      a full window; acknowledgements on time; nothing to send
//! ```

mod application;
mod capture;
mod held_back;
mod probes;
mod stalled_receiver;
mod stalled_sender;
mod waiting;
mod window;

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::GapEvidence;

/// The cause and the confidence in it, or nothing if the rule does not apply.
type CauseFound = Option<(Cause, f64)>;

/// A rule, with its name.
pub struct PauseRule {
    /// As in its file.
    pub name: &'static str,
    decides: fn(&GapEvidence) -> CauseFound,
}

macro_rules! rules {
    ($($file:ident::$rule:ident,)+) => {
        [$(PauseRule { name: stringify!($rule), decides: $file::$rule }),+]
    };
}

/// All rules, in the order in which they are asked.
pub static RULES: [PauseRule; 20] = rules![
    capture::capture_missed,
    capture::clock_step,
    probes::probe_of_the_receiver,
    held_back::held_back_data,
    stalled_sender::late_timer,
    stalled_sender::deaf_sender,
    held_back::held_back_answer,
    stalled_sender::silent_timers,
    stalled_receiver::unanswered,
    stalled_receiver::unanswered_in_between,
    probes::timer,
    window::window_full,
    application::answers_request,
    waiting::ack_clock,
    waiting::unaware_of_loss,
    waiting::loss_signs,
    application::idle_sender,
    application::habit,
    stalled_sender::silent_sender,
    application::late_data,
];

/// Says why no data passed. The first rule that applies decides.
pub fn cause(evidence: &GapEvidence) -> (Cause, f64) {
    RULES.iter().find_map(|rule| (rule.decides)(evidence)).unwrap_or((Cause::Unknown, 0.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_stands_in_the_list_once() {
        let mut names = RULES.each_ref().map(|rule| rule.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}

//! The limiting factors as the verdict needs them: a file each, which declares words, remedy and bounds of confidence.
//!
//! ```text
//! rule         what each declares, and what several share
//! setup, slow_start, idle                      how far the transfer was
//! host_stall, application, send_buffer         the hosts
//! receiver_window, congestion_window           the windows
//! timeout_wait, loss_recovery                  losses
//! token_bucket, bottleneck_bandwidth, unknown  the path
//! ```
//!
//! When a factor limits a round is said in [`crate::tcp::limits`].

pub mod application;
pub mod bottleneck_bandwidth;
pub mod congestion_window;
pub mod host_stall;
pub mod idle;
pub mod loss_recovery;
pub mod receiver_window;
pub mod rule;
pub mod send_buffer;
pub mod setup;
pub mod slow_start;
pub mod timeout_wait;
pub mod token_bucket;
pub mod unknown;

use crate::tcp::limits::factor::Factor;
use crate::tcp::verdict::factors::rule::FactorRule;

/// All of them, in the order of their numbers.
pub static RULES: [FactorRule; Factor::COUNT] = [
    setup::RULE,
    host_stall::RULE,
    timeout_wait::RULE,
    loss_recovery::RULE,
    receiver_window::RULE,
    application::RULE,
    slow_start::RULE,
    token_bucket::RULE,
    bottleneck_bandwidth::RULE,
    send_buffer::RULE,
    congestion_window::RULE,
    idle::RULE,
    unknown::RULE,
];

/// What a factor declares.
pub fn rule(factor: Factor) -> &'static FactorRule {
    &RULES[factor as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_factor_declares_itself_at_its_number() {
        for factor in Factor::ALL {
            assert_eq!(rule(factor).factor, factor);
        }
    }
}

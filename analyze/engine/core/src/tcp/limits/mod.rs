//! What limited a direction at every moment (docs/verdict.md, "What limits"). Owns rounds, rules and the time by
//! factor; reads both directions and changes none. Which factor made the transfer slow is `verdict`'s question.
//!
//! ```text
//! watch   a round is over ──> round   what happened in it (setup: the time before the first)
//!         a gap has a cause ─┐          │  known   what the rules ask of it (background: of the rounds around it)
//!                            └──> judge ── rules  which factor (application, credit, bottleneck, send_buffer; before them slow_start)
//!                                          │
//!                                          route  the round trip without a queue
//!                                          ack_wait  what of a round trip acknowledgements wait for
//!                                          plateau  a send buffer after a loss, which takes long to tell
//!                                          runs   one factor after another, for the report
//!                                          marks  frames along it, for evidence
//!                                          tally  what the rounds of one factor say together, for the verdict
//! share, rates   time and bytes of each factor; what a transfer reaches without a limit
//! moves    what a time was counted for is known better later
//! second_stage  what is known better at the end: one list of rules, which the factors declare (`verdict::factors`)
//! after_data, setup, inferred_window, bucket, sharing, retransmitting  what some of them ask
//! outage   a path that carried nothing for a while
//! late_losses, losses_at_once, even_losses  losses that neither chance nor a queue explains
//! summary  what stays of all this
//! ```
//!
//! Memory is constant: a round is judged once eight more have passed, and what stays is time and bytes by factor, a
//! sample of rates, and a bounded list of runs.

pub mod ack_wait;
pub(crate) mod after_data;
pub mod application;
pub mod background;
pub mod bottleneck;
pub(crate) mod bucket;
pub mod credit;
pub(crate) mod even_losses;
pub(crate) mod inferred_window;
pub mod judge;
pub mod known;
pub(crate) mod late_losses;
pub(crate) mod losses_at_once;
pub mod marks;
pub(crate) mod moves;
pub(crate) mod outage;
pub(crate) mod plateau;
pub(crate) mod rates;
pub(crate) mod retransmitting;
pub mod round;
pub(crate) mod route;
pub mod rules;
pub mod runs;
pub mod second_stage;
pub mod send_buffer;
pub mod setup;
pub mod share;
pub mod sharing;
pub(crate) mod slow_start;
pub mod summary;
pub(crate) mod tally;
pub(crate) mod watch;

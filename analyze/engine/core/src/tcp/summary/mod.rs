//! What stays of a connection that is over. Owns the plain numbers that everything after the analysis reads; how they
//! were measured is behind them, how they are written is `output`'s.
//!
//! ```text
//! summary          the fields, and what follows from them alone
//! durations        mean, extremes and quantiles of durations
//! shown            whether it was acknowledged, and where it was seen
//! not_measured     why a number is none, and what makes loss numbers less than sure
//! stragglers       packets that come after the end (kept: what is needed for them)
//! direction_rates  rates and shares of a direction
//! summarize, summarize_direction   the state of a connection and of its directions becomes its summary
//! over_time        token buckets in what was delivered, and what is kept of that
//! decision         what made it slow, as `verdict` decides
//! ending           how a connection opened and ended, where that is not plain
//! bounds           lists that were full
//! capture_faults   what connections show to be wrong with their captures, by input
//! ```

mod bounds;
pub mod capture_faults;
pub mod decision;
mod direction_rates;
pub mod durations;
pub mod ending;
pub mod kept;
pub mod not_measured;
mod over_time;
pub mod shown;
pub mod stragglers;
pub(crate) mod summarize;
mod summarize_direction;
#[allow(clippy::module_inception, reason = "the room is named after its main type")]
pub mod summary;

//! TCP analysis: packets of one connection in capture order to measurements.
//!
//! ```text
//! lines ── packets of a chunk by flow ──> shard ── finds the connection ──> connection ── halves told apart
//!   copies      what the capture shows twice is left out     (duplicates, two_points)
//!   opening     SYN, SYN-ACK, RST: what both sides offer     (handshake)
//!   ecn         marks of congestion
//!   steady      the two packets of bulk transfers, taken by a short way
//!   half        one direction's state                        (ticks, ledger)
//!   arrival     its data: new, retransmitted, late           (segments, stamps, segment_size, holes, before, late, unseen,
//!                                                            loss, loss_bursts, trigger, spacing, ip_id, tls_feed)
//!   acknowledgement  what the other side says of it          (ranges, rtt, recovery_trips, lengthened_trips,
//!                                                            undone_timeout, unanswered, refused, window, nagle)
//!   sender_view what its sender knew, and when               (sender_loop, echo_loop, queue_before, silences, restarts, turns)
//!   limits      what limited it, round by round
//!   gap_watch   why no data passed for a while               (gap_known, gap_evidence, gap_answer, gap_backlog, trains,
//!                                                            gap_pending, gap_cause, gap_unsettled, gaps, gap_period)
//!   half_steps  what is measured in steps of time            (rate_series, microbursts)
//!   row_recorder  a row for each packet, where wanted        (detail, rows, packed)
//! ending ─── the state of a connection that is over becomes its summary (vantage, token_bucket)
//! summary ── what stays of it                                (seldom)
//! verdict ── why it was slow
//! ```
//!
//! For all connections of a shard: which packets make one (lifetime), how many opened when (openings), what the captures did
//! wrong (capture_faults, lag), memory (room, spares). For all measurements: sequence, moments, sketch.

pub mod acknowledgement;
pub mod arrival;
mod before;
pub mod capture_faults;
pub mod connection;
mod copies;
pub mod detail;
pub mod duplicates;
mod echo_loop;
pub mod ecn;
mod ending;
mod gap_answer;
mod gap_backlog;
pub mod gap_cause;
mod gap_evidence;
mod gap_known;
mod gap_pending;
pub mod gap_period;
mod gap_unsettled;
mod gap_watch;
pub mod gaps;
pub mod half;
mod half_steps;
pub mod handshake;
pub mod holes;
pub mod ip_id;
pub mod lag;
mod late;
pub mod ledger;
pub mod lengthened_trips;
pub mod lifetime;
pub mod limits;
pub mod lines;
pub mod loss;
pub mod loss_bursts;
pub mod microbursts;
pub mod moments;
pub mod nagle;
mod opening;
pub mod openings;
pub mod packed;
mod queue_before;
pub mod ranges;
pub mod rate_series;
pub mod recovery_trips;
mod refused;
pub(crate) mod restarts;
pub mod room;
pub mod row_recorder;
pub mod rows;
pub mod rtt;
pub mod segment_size;
pub mod segments;
pub mod seldom;
mod sender_loop;
pub mod sender_view;
pub mod sequence;
pub mod shard;
mod silences;
pub mod sketch;
pub mod spacing;
pub mod spares;
mod stamps;
mod steady;
pub mod summary;
pub mod ticks;
mod tls_feed;
pub mod token_bucket;
mod trains;
pub mod trigger;
pub mod turns;
mod two_points;
mod unanswered;
mod undone_timeout;
mod unseen;
pub mod vantage;
pub mod verdict;
pub mod window;

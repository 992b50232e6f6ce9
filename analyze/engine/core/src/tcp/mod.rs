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
//!   sender_view what its sender knew, and when               (sender_loop, echo_loop, queue_before, silences, restarts,
//!                                                            turns)
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

pub mod capture;
pub mod connection;
pub mod direction;
pub mod events;
pub mod flow;
pub mod gaps;
pub mod kernel;
pub mod limits;
pub mod loss;
pub mod rates;
pub mod rows;
pub mod rtt;
pub mod sender;
pub mod stats;
pub mod summary;
pub mod token_bucket;
pub mod verdict;

//! TCP analysis: packets in capture order to connections with their measurements. Owns everything that is known of
//! TCP; frames are read by `decode`, payload by `tls` and `dns`, results are written by `output`.
//!
//! The rooms, floor by floor. Each uses only rooms of the floors before its own (`tests/house/test_engine_rooms.py`):
//!
//! ```text
//!  1  stats         numbers and containers that know nothing of TCP
//!     kernel        facts of TCP and of Linux, and tolerances, that rules share
//!  2  events        plain values that pass between rooms: a packet sent, an acknowledgement, a retransmission, a row
//!  3  capture       what the capture itself did: frames twice, frame sizes, clocks, two taps, hosts recorded late
//!     congestion    which congestion control a sender uses, by its rounds
//!     loss          retransmissions, recovery, bursts, missing IP identifications
//!     sender        what a sender knew and did: flight, window, pauses
//!  4  rates         series, packet trains, peaks, time between packets
//!     rtt           round trips, clean and not
//!     requests      requests and responses: who spoke, how much, when
//!  5  direction     what one side sends and its peer acknowledges
//!     token_bucket  shapers and policers in a series
//!     rows          a row for each packet, where wanted
//!  6  gaps          why no data passed for a while; reads both directions
//!  7  limits        what limited a direction, round by round; reads both directions
//!     replay        what a change would have brought: a model of sender, path and receiver
//!  8  connection    both directions, handshake, capture point; owns the watchers of gaps and limits
//!  9  summary       what stays of a connection that is over
//! 10  verdict       why a transfer was slow; the limiting factors, a file each
//! 11  account       the time of a connection by owner and kind, and what each would have saved
//!     flow          the connections of a shard: a packet finds its own
//!     shared_limits limits of several connections together: their sum stands at a rate
//!     outcome       what became of a connection that did not open, did not move its data or did not end well
//! ```
//!
//! The way of a packet: `flow::table` finds its connection, `connection::connection` its direction,
//! `direction::fast_path` or `direction::on_data` and `direction::on_ack` count it, `connection::watching` asks `gaps`
//! and `limits`; `summary::summarize` ends the connection. `analyze/engine/core/src/README.md` walks it step by step.

pub mod account;
pub mod capture;
pub mod congestion;
pub mod connection;
pub mod direction;
pub mod events;
pub mod flow;
pub mod gaps;
pub mod kernel;
pub mod limits;
pub mod loss;
pub mod outcome;
pub mod rates;
pub mod replay;
pub mod requests;
pub mod rows;
pub mod rtt;
pub mod sender;
pub mod shared_limits;
pub mod stats;
pub mod summary;
pub mod token_bucket;
pub mod verdict;

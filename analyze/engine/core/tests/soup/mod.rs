//! Packet soup: bytes to a sequence of packets of one or two connections, and the sequence through the engine's two ways.
//!
//! ```text
//! dice ── bytes to decisions ──> talk ── what both ends do ──> packets ──> ways ── fast and general, compared (state)
//!                                  strange ── what no end should       └──> file ── a capture, for whole analyses
//! ```
//!
//! Shared by `core/tests/fast_path.rs` and the fuzz target `fast_path`, and by `core/tests/soup_analysis.rs` and the fuzz target of
//! that name: what one finds, the other repeats.
#![allow(dead_code, reason = "each program uses some of it")]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

pub mod dice;
pub mod file;
pub mod packets;
pub mod state;
pub mod strange;
pub mod stream;
pub mod talk;
pub mod ways;

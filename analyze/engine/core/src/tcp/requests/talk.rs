//! What a connection knows of the turn in progress, and of those before.

use crate::tcp::requests::exchanges::Exchanges;
use crate::tcp::requests::opening::{Expects, MessageOpening};
use crate::tcp::requests::said::Moment;

/// Nobody: the next data packet is looked at, whoever sends it.
pub(crate) const NOBODY: u8 = 2;

/// What is known of the turn in progress when it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) side: u8,
    /// Packets of it that were looked at.
    pub(crate) looked_at: u8,
    pub(crate) informed: bool,
    /// The capture began within it.
    pub(crate) partial: bool,
    pub(crate) opening: MessageOpening,
    /// It is a request whose head asks for 100 Continue, or may do so, and whose body has not come.
    pub(crate) expects_continue: Expects,
    pub(crate) start: Moment,
    /// Position of its first byte.
    pub(crate) position: u64,
}

/// Everything a connection knows of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    /// By the directions of data.
    pub(crate) plain: Exchanges,
    /// By records of TLS.
    pub(crate) sealed: Exchanges,
    /// By what keys have opened of them.
    pub(crate) opened: Option<Box<OpenedTalk>>,
}

/// What is known by opened records.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenedTalk {
    pub(crate) exchanges: Exchanges,
    pub(crate) turn: Option<OpenedTurn>,
}

/// A turn in progress, and how much was said in it so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenedTurn {
    pub(crate) turn: Turn,
    pub(crate) end: Moment,
    pub(crate) bytes: u64,
}

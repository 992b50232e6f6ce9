//! Why an input could not be read at all. Damage within an input is no error: it is among the facts (`input_facts`).

use std::error::Error;
use std::fmt;

/// Why a whole input could not be read (further). A damaged spot is not an error: it is reported as [`crate::read::input_facts::Damage`].
#[derive(Debug)]
pub enum ReadError {
    /// The operating system refused.
    Io {
        /// Number of the input file.
        input: u16,
        /// The cause.
        source: std::io::Error,
    },
    /// The bytes are not of a capture format that can be read.
    NotACapture {
        /// Number of the input file.
        input: u16,
        /// What they are instead, as far as is known, and what to do.
        what: String,
    },
    /// The compressed stream is broken before the first record.
    Decompression {
        /// Number of the input file.
        input: u16,
        /// What is wrong with it.
        what: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { source, .. } => write!(f, "{source}"),
            Self::NotACapture { what, .. } | Self::Decompression { what, .. } => f.write_str(what),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NotACapture { .. } | Self::Decompression { .. } => None,
        }
    }
}

impl ReadError {
    /// Number of the input file that could not be read.
    pub fn input(&self) -> u16 {
        match self {
            Self::Io { input, .. } | Self::NotACapture { input, .. } | Self::Decompression { input, .. } => *input,
        }
    }

    /// The same error among inputs of which `first_input` come before those it was counted in.
    #[must_use]
    pub fn moved(mut self, first_input: u16) -> Self {
        match &mut self {
            Self::Io { input, .. } | Self::NotACapture { input, .. } | Self::Decompression { input, .. } => {
                *input = input.saturating_add(first_input);
            }
        }
        self
    }
}

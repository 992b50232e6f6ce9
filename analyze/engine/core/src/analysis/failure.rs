//! Why there is no result at all. What went wrong with some of the inputs only is in the results.

use crate::read::read_error::ReadError;

/// Why there is no result at all.
#[derive(Debug)]
pub enum Failure {
    /// No input could be read: what is wrong with each.
    Read(Vec<ReadError>),
    /// The filter could not be compiled.
    Filter(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("; "))
            }
            Self::Filter(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

//! The names that results use, for Python: they are declared once, in the engine.

use pyo3::prelude::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::gaps::cause::Cause;
use vmtrace_core::tcp::verdict::factors::rule;

/// Name, name as a noun in sentences, and whether it can hold a transfer back.
type FactorWords = (&'static str, &'static str, bool);

/// The limiting factors in the order of the results.
#[pyfunction]
pub fn factors() -> Vec<FactorWords> {
    let of = |factor: Factor| (factor.name(), rule(factor).in_words, rule(factor).holds_back());
    Factor::ALL.map(of).to_vec()
}

/// The names of the causes of pauses, in the order of the results.
#[pyfunction]
pub fn pause_causes() -> Vec<&'static str> {
    Cause::ALL.map(Cause::name).to_vec()
}

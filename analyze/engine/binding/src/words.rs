//! The names that results use, for Python: they are declared once, in the engine.

use pyo3::prelude::*;
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::gaps::cause::Cause;
use vmtrace_core::tcp::verdict::factors::rule;
use vmtrace_core::tcp::verdict::factors::rule::Labels;

/// Name, name as a noun in sentences, and whether it can hold a transfer back.
type FactorWords = (&'static str, &'static str, bool);

/// The limiting factors in the order of the results.
#[pyfunction]
pub fn factors() -> Vec<FactorWords> {
    let of = |factor: Factor| (factor.name(), rule(factor).in_words, rule(factor).holds_back());
    Factor::ALL.map(of).to_vec()
}

/// Name, label in lists, label where a column is narrow; labels of sentences that begin with certain words.
type FactorLabels = (&'static str, &'static str, &'static str, Vec<(&'static str, &'static str)>);

/// What the limiting factors are called in tables and lists, in the order of the results.
#[pyfunction]
pub fn factor_labels() -> Vec<FactorLabels> {
    let of = |factor: Factor| {
        let Labels { list, column, by_beginning } = rule(factor).labels;
        (factor.name(), list, column, by_beginning.to_vec())
    };
    Factor::ALL.map(of).to_vec()
}

/// The names of the causes of pauses, in the order of the results.
#[pyfunction]
pub fn pause_causes() -> Vec<&'static str> {
    Cause::ALL.map(Cause::name).to_vec()
}

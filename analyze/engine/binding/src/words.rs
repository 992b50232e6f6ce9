//! The names that results use, for Python: they are declared once, in the engine.

use pyo3::prelude::*;
use vmtrace_core::output::fields::catalogue::{Described, catalogue};
use vmtrace_core::output::key::Written;
use vmtrace_core::tcp::events::factor::Factor;
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

/// Path, kind, meaning, unit, when it is null, when it is left out, values, when it is there, whether it may be negative.
type FieldWords = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Vec<&'static str>,
    &'static str,
    bool,
);

/// The sections of the document and the tables: name, places in the document (of tables none), fields.
#[pyfunction]
pub fn fields() -> Vec<(&'static str, Vec<String>, Vec<FieldWords>)> {
    let of = |found: Described| {
        let emitted = found.emitted?;
        let there = match emitted.written {
            Written::Always => "always",
            Written::IfKnown => "if_known",
            Written::IfSet => "if_set",
        };
        let words = found.words;
        let [meaning, unit] = [words.meaning, words.unit_of(found.path)];
        let kind = emitted.kind.name();
        Some((found.path, kind, meaning, unit, words.null, words.left_out, found.values, there, words.is_signed))
    };
    let sections = catalogue().into_iter();
    sections
        .map(|section| (section.name, section.places, section.fields.into_iter().filter_map(of).collect()))
        .collect()
}

//! Every error of the engine on its way to Python: system errors become the built-in classes, the rest `TraceError`.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use vmtrace_core::analysis::Failure;
use vmtrace_core::read::ReadError;

create_exception!(
    vmtrace.analyze._engine,
    TraceError,
    PyException,
    "An input cannot be read as a capture. Attributes: `kind` (\"not_a_capture\", \"decompression\" or \"filter\"), `input` \
     (its position among the inputs), `path` (its name) and `reason` (what is wrong and what to do)."
);

/// Maps what ended a whole run; `names` are the inputs' names in the order they were given. Of several inputs that cannot
/// be read, the error is that of the first; the others are in its attribute `others`.
pub fn failure_to_python(py: Python<'_>, failure: &Failure, names: &[String]) -> PyErr {
    match failure {
        Failure::Read(errors) => {
            let mut errors = errors.iter().map(|error| to_python(py, error, names));
            let Some(first) = errors.next() else { return PyOSError::new_err("no input could be read") };
            let others: Vec<PyErr> = errors.collect();
            first.value(py).setattr("others", others).map_or_else(|failure| failure, |()| first)
        }
        Failure::Filter(reason) => trace_error(py, "filter", None, None, reason),
    }
}

/// Maps what is wrong with one input.
pub fn to_python(py: Python<'_>, error: &ReadError, names: &[String]) -> PyErr {
    let (kind, input, reason) = match error {
        ReadError::Io { input, source } => return system_error(source, name_of(names, *input).unwrap_or("input")),
        ReadError::NotACapture { input, what } => ("not_a_capture", *input, what),
        ReadError::Decompression { input, what } => ("decompression", *input, what),
    };
    trace_error(py, kind, Some(input), name_of(names, input), reason)
}

/// The built-in class for a system error (`FileNotFoundError`, `PermissionError`, ...), with the file's name in it.
pub fn system_error(source: &std::io::Error, path: &str) -> PyErr {
    match source.raw_os_error() {
        Some(number) => {
            let text = source.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, text, path.to_owned()))
        }
        None => PyOSError::new_err(format!("{path}: {source}")),
    }
}

fn trace_error(py: Python<'_>, kind: &str, input: Option<u16>, path: Option<&str>, reason: &str) -> PyErr {
    let message = path.map_or_else(|| reason.to_owned(), |path| format!("{path}: {reason}"));
    let error = TraceError::new_err(message);
    let value = error.value(py);
    let attributes = value
        .setattr("kind", kind)
        .and_then(|()| value.setattr("input", input))
        .and_then(|()| value.setattr("path", path))
        .and_then(|()| value.setattr("reason", reason));
    match attributes {
        Ok(()) => error,
        Err(failure) => failure,
    }
}

fn name_of(names: &[String], input: u16) -> Option<&str> {
    names.get(usize::from(input)).map(String::as_str)
}

//! The one call: inputs in, an [`Analysis`] out. Owns threads, progress and interruption on the Python side.
//!
//! The engine runs on a thread of its own, because only Python's main thread may look for signals: the calling thread
//! wakes every [`POLL`] to pass on progress and to see Ctrl-C, and needs the GIL for no longer than that. The first
//! Ctrl-C asks the engine to stop and keeps what was measured; a second one does not wait for it any more (the engine
//! may be blocked in a read).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vmtrace_core::analysis::{self, FilterCompiler, Observer, Options};
use vmtrace_core::read::ReadError;

use crate::errors::to_python;
use crate::input::Input;
use crate::result::Analysis;

/// How often signals and progress are looked at: below what a person notices, far above what it costs.
const POLL: Duration = Duration::from_millis(50);

type Outcome = Result<analysis::Analysis, ReadError>;

/// Measures captures and returns all connections found in them.
///
/// `progress` is called about 20 times a second with the bytes of the inputs consumed so far. Ctrl-C ends the reading
/// and gives what was measured until then, with `interrupted` set.
#[pyfunction]
#[pyo3(signature = (inputs, *, threads = 0, oversize_abs_ns = None, detail_connections = Vec::new(),
                    compile_filter = None, progress = None))]
pub fn analyze(
    py: Python<'_>,
    inputs: Vec<Input>,
    threads: usize,
    oversize_abs_ns: Option<i64>,
    detail_connections: Vec<u32>,
    compile_filter: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Analysis> {
    let names: Vec<String> = inputs.iter().map(Input::name).collect();
    let readers = inputs.into_iter().map(Input::open).collect::<PyResult<Vec<_>>>()?;
    let options = Options {
        threads,
        oversize_abs_ns,
        detail_connections,
        filters: compile_filter.map(|callable| Box::new(PythonFilter(callable)) as Box<dyn FilterCompiler>),
        ..Options::default()
    };
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = channel::<Outcome>();
    let observed = Arc::clone(&watch);
    std::thread::Builder::new().name("vmtrace-engine".to_owned()).spawn(move || {
        // The receiver is gone only if the caller gave up waiting: then nobody wants the outcome.
        let _ = sender.send(analysis::analyze(readers, &options, &*observed));
    })?;
    match wait(py, receiver, &watch, progress.as_ref())? {
        Ok(result) => Ok(Analysis::new(result)),
        Err(error) => Err(to_python(py, error, &names)),
    }
}

/// Waits for the engine, passing progress to Python and interruption to the engine.
fn wait(
    py: Python<'_>,
    receiver: Receiver<Outcome>,
    watch: &Watch,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Outcome> {
    // `detach` takes only what threads may share; a `Receiver` is that behind a mutex, which nobody else ever locks.
    let receiver = Mutex::new(receiver);
    let mut failure = None;
    loop {
        let received = py.detach(|| match receiver.lock() {
            Ok(receiver) => receiver.recv_timeout(POLL),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match received {
            Ok(outcome) => return failure.map_or(Ok(outcome), Err),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the engine stopped without a result: please report this"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            let again = watch.stop.swap(true, Ordering::Relaxed);
            if again || !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                return Err(error);
            }
        }
        if failure.is_none()
            && let Some(callable) = progress
            && let Err(error) = callable.call1(py, (watch.consumed_bytes.load(Ordering::Relaxed),))
        {
            watch.stop.store(true, Ordering::Relaxed);
            failure = Some(error);
        }
    }
}

/// What the engine's thread and the calling thread tell each other.
#[derive(Default)]
struct Watch {
    consumed_bytes: AtomicU64,
    stop: AtomicBool,
}

impl Observer for Watch {
    fn progress(&self, consumed_bytes: u64) -> bool {
        self.consumed_bytes.store(consumed_bytes, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// A Python callable `(link_type, snap_length) -> bytes` as the engine's filter compiler.
struct PythonFilter(Py<PyAny>);

impl FilterCompiler for PythonFilter {
    fn compile(&self, link_type: u16, snap_length: u32) -> Result<Vec<u8>, String> {
        Python::attach(|py| {
            let program = self.0.bind(py).call1((link_type, snap_length)).map_err(|error| error.value(py).to_string())?;
            let bytes = program.cast::<PyBytes>().map_err(|error| error.to_string())?;
            Ok(bytes.as_bytes().to_vec())
        })
    }
}

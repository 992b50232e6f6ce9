//! A reading that goes on while Python looks at it. Owns the engine's thread; what is asked of it goes through a channel, and
//! is answered between two chunks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vmtrace_core::analysis::kept::Keep;
use vmtrace_core::analysis::live::Live as Reading;
use vmtrace_core::analysis::{self, Observer, Options};
use vmtrace_core::read;

use crate::errors::{failure_to_python, to_python};
use crate::following::Following;
use crate::result::Analysis;
use crate::run::{Outcome, PythonFilter};

/// How often signals are looked at.
const POLL: Duration = Duration::from_millis(50);

/// Longer than this nobody waits for a snapshot: it is given to whoever asks next.
const PATIENCE: Duration = Duration::from_secs(2);

/// What passed until now, the numbers of connections that are in no later snapshot, and how many were left out of this one.
struct Snapshot {
    analysis: analysis::Analysis,
    leaving: Vec<u32>,
    left: u32,
}

enum Request {
    /// And what to forget afterwards: what ended so long ago, nanoseconds, and what takes more room than that, bytes.
    Snapshot(Option<(i64, usize)>, Sender<Snapshot>),
    Packets(Sender<Vec<u8>>),
    Finish(Sender<Outcome>),
}

/// What both threads see.
#[derive(Default)]
struct Shared {
    consumed_bytes: AtomicU64,
    has_begun: AtomicBool,
    is_over: AtomicBool,
}

impl Observer for Shared {
    fn progress(&self, consumed_bytes: u64) -> bool {
        self.consumed_bytes.store(consumed_bytes, Ordering::Relaxed);
        false
    }
}

/// Reads `path` (`-`: standard input) as it is written: a pipe to its end, a file as it grows until nothing came for `idle_s`, or
/// until `finish`. The last `keep_bytes` of packets are kept, or of these the last `keep_s`.
#[pyclass(frozen, module = "vmtrace.analyze._engine")]
pub struct Live {
    requests: Mutex<Sender<Request>>,
    awaited: Mutex<Option<Receiver<Snapshot>>>,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    name: String,
}

#[pymethods]
impl Live {
    #[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
    #[new]
    #[pyo3(signature = (path, *, name, idle_s = None, oversize_abs_ns = None, compile_filter = None, key_log = None, keep_bytes = 0, keep_s = None))]
    fn new(
        path: &str,
        name: String,
        idle_s: Option<f64>,
        oversize_abs_ns: Option<u64>,
        compile_filter: Option<Py<PyAny>>,
        key_log: Option<&[u8]>,
        keep_bytes: usize,
        keep_s: Option<f64>,
    ) -> PyResult<Self> {
        let (shared, stop) = (Arc::<Shared>::default(), Arc::<AtomicBool>::default());
        let input = Following::open(path, idle_s.map(Duration::from_secs_f64), Arc::clone(&stop));
        let input = input.map_err(|error| crate::errors::system_error(&error, &name))?;
        let filter = compile_filter.map(PythonFilter::boxed);
        let options = Options { oversize_abs_ns, filter, ..Options::default() };
        options.key_log.read(key_log.unwrap_or_default());
        let keep = Keep { bytes: keep_bytes, time_ns: keep_s.map(|seconds| (seconds * 1e9) as i64) };
        let (requests, asked) = channel();
        let seen = Arc::clone(&shared);
        let work = move || serve(Box::new(input), &options, &seen, keep, &asked);
        std::thread::Builder::new().name("vmtrace-live".to_owned()).spawn(work)?;
        Ok(Self { requests: Mutex::new(requests), awaited: Mutex::default(), shared, stop, name })
    }

    /// What passed until now, the numbers of connections that are in no later snapshot, and how many were left out of this one. None
    /// while nothing has come, and where it takes long.
    ///
    /// Afterwards is forgotten what ended more than `horizon_s` before the last packet, and where connections take more than
    /// `room_bytes`, those that were silent for longest.
    #[pyo3(signature = (*, horizon_s = None, room_bytes = None))]
    fn snapshot(
        &self,
        py: Python<'_>,
        horizon_s: Option<f64>,
        room_bytes: Option<usize>,
    ) -> PyResult<Option<(Analysis, Vec<u32>, u32)>> {
        if !self.shared.has_begun.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let awaited = lock(&self.awaited).take();
        let receiver = match awaited {
            Some(receiver) => receiver,
            None => {
                let (reply, receiver) = channel();
                let forget = horizon_s.map(|seconds| ((seconds * 1e9) as i64, room_bytes.unwrap_or(usize::MAX / 8)));
                self.ask(Request::Snapshot(forget, reply))?;
                receiver
            }
        };
        match wait(py, receiver, Some(PATIENCE))? {
            Ok(Snapshot { analysis, leaving, left }) => Ok(Some((Analysis::new(analysis, Vec::new()), leaving, left))),
            Err(receiver) => {
                *lock(&self.awaited) = Some(receiver);
                Ok(None)
            }
        }
    }

    /// The last packets as a pcapng file; none where that takes long.
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (reply, receiver) = channel();
        self.ask(Request::Packets(reply))?;
        Ok(wait(py, receiver, Some(PATIENCE))?.ok().map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Ends the reading, unless it has ended by itself, and gives what all of it shows. To be called once.
    fn finish(&self, py: Python<'_>) -> PyResult<Analysis> {
        self.stop.store(true, Ordering::Relaxed);
        let (reply, receiver) = channel();
        self.ask(Request::Finish(reply))?;
        let names = [self.name.clone()];
        match wait(py, receiver, None)? {
            Ok(Ok(analysis)) => {
                let errors = analysis.errors.iter().map(|error| to_python(py, error, &names)).collect();
                Ok(Analysis::new(analysis, errors))
            }
            Ok(Err(failure)) => Err(failure_to_python(py, &failure, &names)),
            Err(_) => Err(gone()),
        }
    }

    /// The stream has ended.
    #[getter]
    fn is_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }

    /// Bytes read so far, about.
    #[getter]
    fn consumed_bytes(&self) -> u64 {
        self.shared.consumed_bytes.load(Ordering::Relaxed)
    }
}

impl Live {
    fn ask(&self, request: Request) -> PyResult<()> {
        lock(&self.requests).send(request).map_err(|_| gone())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("the engine stopped without a result: please report this")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes through `receiver`, with an eye on signals; the receiver again if that takes longer than `patience`.
fn wait<T: Send>(
    py: Python<'_>,
    receiver: Receiver<T>,
    patience: Option<Duration>,
) -> PyResult<Result<T, Receiver<T>>> {
    // `detach` takes only what threads may share; a `Receiver` is that behind a mutex, which nobody else ever locks.
    let receiver = Mutex::new(receiver);
    let mut left = patience;
    loop {
        match py.detach(|| lock(&receiver).recv_timeout(POLL)) {
            Ok(found) => return Ok(Ok(found)),
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
        left = match left.map(|left| left.checked_sub(POLL)) {
            Some(None) => return Ok(Err(receiver.into_inner().unwrap_or_else(PoisonError::into_inner))),
            Some(left) => left,
            None => None,
        };
    }
}

/// Reads to the end, and answers what is asked meanwhile and afterwards.
fn serve(input: read::Input, options: &Options, shared: &Shared, keep: Keep, asked: &Receiver<Request>) {
    let mut reading = Reading::new(input, options, shared, keep);
    loop {
        let is_over = shared.is_over.load(Ordering::Relaxed) || !reading.step();
        shared.has_begun.store(true, Ordering::Relaxed);
        shared.is_over.store(is_over, Ordering::Relaxed);
        let request = if is_over { asked.recv().ok() } else { asked.try_recv().ok() };
        // Whoever asked may not want it any more.
        match request {
            Some(Request::Snapshot(forget, reply)) => _ = reply.send(snapshot(&mut reading, forget)),
            Some(Request::Packets(reply)) => _ = reply.send(reading.last_packets()),
            Some(Request::Finish(reply)) => {
                while !is_over && reading.step() {}
                shared.is_over.store(true, Ordering::Relaxed);
                _ = reply.send(reading.finish());
                return;
            }
            None if is_over => return,
            None => {}
        }
    }
}

fn snapshot(reading: &mut Reading<'_>, forget: Option<(i64, usize)>) -> Snapshot {
    let left = reading.forgotten();
    let analysis = reading.snapshot();
    let gone = forget.map(|(horizon_ns, room_bytes)| reading.forget(horizon_ns, room_bytes)).unwrap_or_default();
    let connections = &analysis.connections;
    let number = |order: &u64| {
        let place = connections.binary_search_by_key(order, |summary| summary.order).ok()?;
        connections.get(place).map(|summary| summary.id)
    };
    Snapshot { leaving: gone.iter().filter_map(number).collect(), left, analysis }
}

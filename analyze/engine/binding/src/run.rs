//! The one call: inputs in, an [`Analysis`] out. Owns threads, progress and interruption on the Python side.
//!
//! The engine runs on a thread of its own, because only Python's main thread may look for signals: the calling thread
//! wakes every [`POLL`] to pass on progress and to see Ctrl-C, and needs the GIL for no longer than that. The first
//! Ctrl-C asks the engine to stop and keeps what was measured; a second one does not wait for it any more (the engine
//! may be blocked in a read of a disk that does not answer).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vmtrace_core::analysis::{self, Failure, FilterCompiler, KnownConnection, Observer, Options};
use vmtrace_core::read::{self, ReadError};
use vmtrace_core::secrets::Keys;
use vmtrace_core::tcp::capture::lag::Lag;

use crate::errors::{failure_to_python, to_python};
use crate::files::Files;
use crate::input::Input;
use crate::memory::Memory;
use crate::result::Analysis;

/// How often signals and progress are looked at: below what a person notices, far above what it costs.
const POLL: Duration = Duration::from_millis(50);

pub(crate) type Outcome<T = analysis::Analysis> = Result<T, Failure>;

/// Measures captures and returns all connections found in them.
///
/// Each of `groups` holds inputs that are parts of one capture; groups are analysed apart and their connections numbered
/// through. `progress` is called about 20 times a second with the bytes of the inputs consumed so far. Ctrl-C ends the
/// reading and gives what was measured until then, with `interrupted` set, as it is where the inputs are parts already.
/// What could not be read while others could is in `errors`. With the result of `measured_before`, of the same inputs, nothing
/// but the packets of `detail_connections` is in the result, and nothing but their flows is analysed. `key_log` is the text of a key log. With
/// `datagrams_known_by_bytes` datagrams are kept one by one, known by so many bytes of their payload. A process that takes `memory_bytes`
/// reads no further: `exhausted` says so.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (groups, *, threads = 1, oversize_abs_ns = None, allowed_bps = None,
                    detail_connections = Vec::new(), measured_before = None, compile_filter = None, key_log = None, datagrams_known_by_bytes = None, memory_bytes = None, progress = None, interrupted = false))]
pub fn analyze(
    py: Python<'_>,
    groups: Vec<Vec<Input>>,
    threads: usize,
    oversize_abs_ns: Option<u64>,
    allowed_bps: Option<f64>,
    detail_connections: Vec<u32>,
    measured_before: Option<Py<Analysis>>,
    compile_filter: Option<Py<PyAny>>,
    key_log: Option<&[u8]>,
    datagrams_known_by_bytes: Option<u32>,
    memory_bytes: Option<u64>,
    progress: Option<Py<PyAny>>,
    interrupted: bool,
) -> PyResult<Analysis> {
    let memory = memory_bytes.map(Memory::of);
    let watch = Arc::new(Watch { memory, ..Watch::default() });
    let names: Vec<String> = groups.iter().flatten().map(Input::name).collect();
    let open_all = |inputs: Vec<Input>| -> PyResult<Group> {
        let open = inputs.iter().map(|input| input.open(&watch.stop, &watch.files)).collect::<PyResult<Vec<_>>>()?;
        Ok(Group { inputs, open })
    };
    let groups = groups.into_iter().map(open_all).collect::<PyResult<Vec<_>>>()?;
    let mut options = Options {
        threads,
        oversize_abs_ns,
        allowed_bps,
        datagrams_known_by_bytes,
        budget_bytes: memory.map(|memory| memory.budget_bytes()),
        filter: compile_filter.map(PythonFilter::boxed),
        ..Options::default()
    };
    options.key_log.read(key_log.unwrap_or_default());
    let known = measured_before.map(|before| known_in(&groups, &before.get().inner, &detail_connections));
    let observed = Arc::clone(&watch);
    let work = move || match known {
        Some(known) => packets_of_groups(groups, &mut options, known, &observed),
        None => analyze_groups(groups, &mut options, &detail_connections, &observed),
    };
    match on_own_thread(py, &watch, progress.as_ref(), work)? {
        Ok(mut result) => {
            result.interrupted |= interrupted;
            result.is_exhausted |= watch.is_full.load(Ordering::Relaxed);
            let errors = result.errors.iter().map(|error| to_python(py, error, &names)).collect();
            Ok(Analysis::new(result, errors))
        }
        // Nothing had come of a stream yet.
        Err(Failure::Read(_)) if watch.stopped() => Err(PyKeyboardInterrupt::new_err(())),
        Err(failure) => Err(failure_to_python(py, &failure, &names)),
    }
}

/// A text in the format of key logs holds a secret of a kind that is used.
#[pyfunction]
pub fn holds_secrets(text: &[u8]) -> bool {
    let keys = Keys::default();
    keys.read(text);
    keys.any()
}

/// Compares the beginnings of two captures: the share of frames that both hold, none if that cannot be said.
///
/// A large share means one traffic captured at two points, whose packets must not be mixed.
#[pyfunction]
pub fn shared_frames(py: Python<'_>, first: Input, second: Input) -> PyResult<Option<f64>> {
    let names = [first.name(), second.name()];
    let (stop, files) = (Arc::default(), Arc::default());
    let readers = [first.open(&stop, &files)?, second.open(&stop, &files)?];
    match py.detach(|| read::shared_frames(readers)) {
        Ok(overlap) => Ok(overlap.share()),
        Err(error) => Err(to_python(py, &error, &names)),
    }
}

/// The first frames of a capture, to be compared with those of others without reading it each time.
#[pyclass(frozen, module = "vmtrace.analyze._engine")]
pub struct FirstFrames(read::FirstFrames);

#[pymethods]
impl FirstFrames {
    #[new]
    fn new(py: Python<'_>, capture: Input) -> PyResult<Self> {
        let names = [capture.name()];
        let reader = capture.open(&Arc::default(), &Arc::default())?;
        py.detach(|| read::FirstFrames::of(reader)).map(Self).map_err(|error| to_python(py, &error, &names))
    }

    /// As `shared_frames`, and whether these frames tell.
    fn shared(&self, py: Python<'_>, other: &Self) -> (bool, Option<f64>) {
        let overlap = py.detach(|| self.0.overlap(&other.0));
        (overlap.is_some(), overlap.and_then(|overlap| overlap.share()))
    }
}

/// Inputs that are parts of one capture.
struct Group {
    inputs: Vec<Input>,
    open: Vec<read::Input>,
}

impl Group {
    fn can_be_read_again(&self) -> bool {
        self.inputs.iter().all(Input::can_be_read_again)
    }

    /// Analyses what was opened. What can be read again is, if its connections need more room than there is.
    fn analyze(&self, open: Vec<read::Input>, options: &Options, watch: &Watch) -> Outcome {
        if self.can_be_read_again() {
            analysis::analyze_in_parts(open, &OnceMore { group: self, watch }, options, watch)
        } else {
            analysis::analyze(open, options, watch)
        }
    }
}

/// A group's inputs, opened once more.
struct OnceMore<'a> {
    group: &'a Group,
    watch: &'a Watch,
}

impl read::Reopen for OnceMore<'_> {
    fn all(&self) -> Result<Vec<read::Input>, ReadError> {
        let opened = self.group.inputs.iter().enumerate().map(|(number, input)| {
            input.open(&self.watch.stop, &self.watch.files).map_err(|error| ReadError::Io {
                input: u16::try_from(number).unwrap_or(u16::MAX),
                source: std::io::Error::other(error.to_string()),
            })
        });
        opened.collect()
    }

    fn length_bytes(&self, input: usize) -> Option<u64> {
        self.group.inputs.get(input)?.length_bytes()
    }

    fn ranges(&self, input: usize, ranges: &[(u64, u64)]) -> Option<read::Input> {
        self.group.inputs.get(input)?.open_ranges(ranges.to_vec()).ok()
    }
}

/// Analyses a group. Where hosts were recorded late it is read once more, with that taken away.
fn analyze_group(mut group: Group, options: &mut Options, watch: &Watch) -> Outcome {
    let open = std::mem::take(&mut group.open);
    let first = group.analyze(open, options, watch)?;
    if first.lags.is_empty() || first.interrupted || !group.can_be_read_again() {
        return Ok(first);
    }
    let Ok(again) = read::Reopen::all(&OnceMore { group: &group, watch }) else { return Ok(first) };
    options.lags.clone_from(&first.lags);
    drop(first);
    let second = group.analyze(again, options, watch);
    options.lags.clear();
    second
}

/// Analyses group after group. A group that cannot be read at all is an error beside the results of the others.
fn analyze_groups(groups: Vec<Group>, options: &mut Options, detail_connections: &[u32], watch: &Watch) -> Outcome {
    let mut all = analysis::Analysis::default();
    let mut any_was_read = false;
    for group in groups {
        let inputs = group.inputs.len();
        let before = u32::try_from(all.connections.len()).unwrap_or(u32::MAX);
        options.detail_connections = detail_connections.iter().filter_map(|id| id.checked_sub(before)).collect();
        match analyze_group(group, options, watch) {
            Ok(result) => {
                any_was_read = true;
                all.append(result);
            }
            Err(Failure::Read(errors)) => all.append_unread(inputs, errors),
            Err(failure @ Failure::Filter(_)) => return Err(failure),
        }
        watch.next_group();
        // A stream that was asked to end ends as any other.
        all.interrupted |= watch.stopped();
        if all.interrupted {
            break;
        }
    }
    if any_was_read || all.errors.is_empty() { Ok(all) } else { Err(Failure::Read(all.errors)) }
}

/// What is known of each group: its connections that are asked for, and hosts that were recorded late.
type Known = (Vec<KnownConnection>, Vec<Lag>);

fn known_in(groups: &[Group], before: &analysis::Analysis, connections: &[u32]) -> Vec<Known> {
    let mut first = 0u16;
    let of_group = |group: &Group| {
        let end = first.saturating_add(u16::try_from(group.inputs.len()).unwrap_or(u16::MAX));
        before.known(connections, std::mem::replace(&mut first, end)..end)
    };
    groups.iter().map(of_group).collect()
}

/// The packets of connections that are known, group by group. A group without any is not read.
fn packets_of_groups(groups: Vec<Group>, options: &mut Options, known: Vec<Known>, watch: &Watch) -> Outcome {
    let mut all = analysis::Analysis::default();
    let mut first_input = 0u16;
    for (mut group, (connections, lags)) in groups.into_iter().zip(known) {
        let inputs = u16::try_from(group.inputs.len()).unwrap_or(u16::MAX);
        if !connections.is_empty() {
            (options.known_connections, options.lags) = (connections, lags);
            let open = std::mem::take(&mut group.open);
            all.append_packets(group.analyze(open, options, watch)?, first_input);
        }
        first_input = first_input.saturating_add(inputs);
        watch.next_group();
        all.interrupted |= watch.stopped();
        if all.interrupted {
            break;
        }
    }
    Ok(all)
}

/// Runs `work` on a thread of its own and waits for it, passing progress to Python and interruption to the engine.
pub(crate) fn on_own_thread<T: Send + 'static>(
    py: Python<'_>,
    watch: &Watch,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Outcome<T> + Send + 'static,
) -> PyResult<Outcome<T>> {
    let (sender, receiver) = channel();
    std::thread::Builder::new().name("vmtrace-engine".to_owned()).spawn(move || {
        // The receiver is gone only if the caller gave up waiting: then nobody wants the outcome.
        let _ = sender.send(work());
    })?;
    wait(py, receiver, watch, progress)
}

fn wait<T: Send>(
    py: Python<'_>,
    receiver: Receiver<Outcome<T>>,
    watch: &Watch,
    progress: Option<&Py<PyAny>>,
) -> PyResult<Outcome<T>> {
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
        if watch.memory.is_some_and(|memory| memory.is_full()) {
            watch.is_full.store(true, Ordering::Relaxed);
            watch.stop.store(true, Ordering::Relaxed);
        }
        let consumed_bytes = watch.consumed_bytes.load(Ordering::Relaxed);
        let told = progress
            .filter(|_| failure.is_none())
            .map_or(Ok(()), |callable| callable.call1(py, (consumed_bytes,)).map(|_| ()));
        // Ctrl-C shows here, or within the callable if Python was running that just then.
        let Err(error) = py.check_signals().and(told) else { continue };
        let asked_before = watch.stop.swap(true, Ordering::Relaxed);
        if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
            failure = Some(error);
        } else if asked_before {
            return Err(error);
        }
    }
}

/// What comes of a run of which a part is worth nothing.
pub(crate) fn finished(py: Python<'_>, outcome: Outcome, names: &[String]) -> PyResult<Analysis> {
    match outcome {
        Ok(result) if result.interrupted => Err(PyKeyboardInterrupt::new_err(())),
        Ok(result) => Ok(Analysis::new(result, Vec::new())),
        Err(failure) => Err(failure_to_python(py, &failure, names)),
    }
}

/// What the engine's thread and the calling thread tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    /// Of the groups that are done.
    before_bytes: AtomicU64,
    /// Of all groups.
    consumed_bytes: AtomicU64,
    pub(crate) stop: Arc<AtomicBool>,
    /// What the process may take; none: as much as there is.
    memory: Option<Memory>,
    /// It took all of that, and was stopped for it.
    is_full: AtomicBool,
    pub(crate) files: Arc<Files>,
}

impl Watch {
    /// Ctrl-C was pressed, or whoever receives the progress does not want more.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What is reported from now on comes on top.
    fn next_group(&self) {
        self.before_bytes.store(self.consumed_bytes.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Observer for Watch {
    fn progress(&self, consumed_bytes: u64) -> bool {
        let before = self.before_bytes.load(Ordering::Relaxed);
        self.consumed_bytes.store(before.saturating_add(consumed_bytes), Ordering::Relaxed);
        self.stopped()
    }
}

/// A Python callable `(link_type, snap_length) -> bytes` as the engine's filter compiler.
pub(crate) struct PythonFilter(Py<PyAny>);

impl PythonFilter {
    pub(crate) fn boxed(callable: Py<PyAny>) -> Box<dyn FilterCompiler> {
        Box::new(Self(callable))
    }
}

impl FilterCompiler for PythonFilter {
    fn compile(&self, link_type: u16, snap_length: u32) -> Result<Vec<u8>, String> {
        Python::attach(|py| {
            let program =
                self.0.bind(py).call1((link_type, snap_length)).map_err(|error| error.value(py).to_string())?;
            let bytes = program.cast::<PyBytes>().map_err(|error| error.to_string())?;
            Ok(bytes.as_bytes().to_vec())
        })
    }
}

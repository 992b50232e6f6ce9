//! A capture analysed in pieces: inputs to slices, slices to connections. Where slices lie is Python's business.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use vmtrace_core::analysis::Inputs;
use vmtrace_core::analysis::flow_index::FlowIndex;
use vmtrace_core::analysis::results::IcmpGiven;
use vmtrace_core::analysis::slices::beyond::{self as core_beyond, Outlined};
use vmtrace_core::analysis::slices::bucket::{self, Slice};
use vmtrace_core::analysis::slices::crossing::{self, Bucket};
use vmtrace_core::analysis::slices::split::{self as core_split, Split};
use vmtrace_core::analysis::{Failure, Options};
use vmtrace_core::decode::icmp::IcmpError;
use vmtrace_core::read;
use vmtrace_core::tcp::capture::lag::{HostAddress, Lag};
use vmtrace_core::tcp::events::factor::Factor;
use vmtrace_core::tcp::events::sharing::Sharing;
use vmtrace_core::tcp::shared_limits::Given;

use crate::errors::failure_to_python;
use crate::input::Input;
use crate::result::Analysis;
use crate::run::{Outcome, PythonFilter, Watch, finished, on_own_thread};

/// An ICMP error: time, frame, type, code, who sent it, to whom, largest packet; of the quoted segment addresses, ports, sequence number.
type IcmpRow = (i64, u32, u8, u8, IpAddr, IpAddr, Option<u32>, IpAddr, IpAddr, u16, u16, Option<u32>);

/// A limit that a connection shares with others: its place, side, factor, rate, connections, from when until when, confidence, bytes
/// that the others left for it.
type Shared = (usize, usize, usize, f64, usize, i64, i64, f64, f64);

/// Why an input has to be read from its beginning, its TCP packets, and its stretches.
type Index = (Option<&'static str>, u64, Py<PyBytes>);

/// See [`split`].
type Found = (Analysis, u64, u64, u64, Vec<IcmpRow>, Vec<Index>);

fn icmp_row(error: &IcmpError) -> IcmpRow {
    let &IcmpError { time_ns, frame, kind, code, from, to, mtu, addresses: [source, destination], .. } = error;
    let &IcmpError { ports: [from_port, to_port], sequence, .. } = error;
    (time_ns, frame, kind, code, from, to, mtu, source, destination, from_port, to_port, sequence)
}

fn icmp_error(row: IcmpRow) -> IcmpError {
    let (time_ns, frame, kind, code, from, to, mtu, source, destination, from_port, to_port, sequence) = row;
    let (addresses, ports) = ([source, destination], [from_port, to_port]);
    // Connections are TCP's, and errors about other protocols are their flows'.
    IcmpError { time_ns, frame, kind, code, from, to, mtu, protocol: 6, addresses, ports, sequence }
}

fn shared_row(given: &Given) -> Shared {
    let &Given { place, side, sharing, left_bytes_s } = given;
    let Sharing { factor, rate_bps, connections, between_ns: [from_ns, to_ns], confidence } = sharing;
    (place, side, factor as usize, rate_bps, connections, from_ns, to_ns, confidence, left_bytes_s)
}

fn given(row: Shared) -> Option<Given> {
    let (place, side, factor, rate_bps, connections, from_ns, to_ns, confidence, left_bytes_s) = row;
    let factor = *Factor::ALL.get(factor)?;
    let sharing = Sharing { factor, rate_bps, connections, between_ns: [from_ns, to_ns], confidence };
    (side < 2).then_some(Given { place, side, sharing, left_bytes_s })
}

/// Each stretch as little-endian numbers: offset, TCP packets before it (64 bits); first frame, flows (32 bits); whether it is always
/// read (8 bits); then the hashes of its flows (32 bits).
fn index_of(py: Python<'_>, index: &FlowIndex) -> Index {
    let mut bytes = Vec::new();
    for stretch in &index.stretches {
        bytes.extend_from_slice(&stretch.offset.to_le_bytes());
        bytes.extend_from_slice(&stretch.packets_before.to_le_bytes());
        bytes.extend_from_slice(&stretch.frame.to_le_bytes());
        bytes.extend_from_slice(&(stretch.flows.len() as u32).to_le_bytes());
        bytes.push(u8::from(stretch.is_needed));
        stretch.flows.iter().for_each(|flow| bytes.extend_from_slice(&flow.to_le_bytes()));
    }
    (index.obstacle, index.packets(), PyBytes::new(py, &bytes).unbind())
}

/// Reads `inputs` as one capture and gives each packet to the slice of its bucket, by `write(bucket, piece)`: pieces are
/// written one behind the other. Frames without TCP go to a slice of their own, whose number follows the last bucket's. About `room_bytes`
/// are held at a time.
///
/// Returns what is known of the inputs (without connections), the number of TCP packets, of fragments of IP datagrams, and of
/// datagrams that are not complete at the end; ICMP errors; and for each input its index. `lags` are hosts that were recorded late:
/// input, address, nanoseconds. Without `buckets` nothing is written.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (inputs, write, *, buckets, room_bytes, lags = Vec::new(), compile_filter = None, progress = None))]
pub fn split(
    py: Python<'_>,
    inputs: Vec<Input>,
    write: Py<PyAny>,
    buckets: u32,
    room_bytes: usize,
    lags: Vec<(u16, Vec<u8>, i64)>,
    compile_filter: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Found> {
    let watch = Arc::new(Watch::default());
    let names: Vec<String> = inputs.iter().map(Input::name).collect();
    let opened = inputs.iter().map(|input| input.open(&watch.stop, &watch.files)).collect::<PyResult<Vec<_>>>()?;
    let known = lags
        .into_iter()
        .filter_map(|(input, address, lag_ns)| Some(Lag { input, host: HostAddress::of_bytes(&address)?, lag_ns }));
    let filter = compile_filter.map(PythonFilter::boxed);
    let options = Options { lags: known.collect(), filter, ..Options::default() };
    let observed = Arc::clone(&watch);
    let work = move || {
        let mut failure = None;
        let mut sink = |bucket: u32, piece: Vec<u8>| {
            let written = Python::attach(|py| write.call1(py, (bucket, PyBytes::new(py, &piece))).map(|_| ()));
            failure = written.err();
            failure.is_none()
        };
        let split = core_split::split(read::open(opened), buckets, room_bytes, &options, &*observed, &mut sink)?;
        Ok((split, failure))
    };
    let outcome: Outcome<(Split, Option<PyErr>)> = on_own_thread(py, &watch, progress.as_ref(), work)?;
    match outcome {
        Ok((_, Some(failure))) => Err(failure),
        Ok((Split { analysis, .. }, None)) if analysis.interrupted => Err(PyKeyboardInterrupt::new_err(())),
        Ok((Split { analysis, packets, fragments, open_datagrams, icmp_errors, indexes }, None)) => {
            let errors = analysis.errors.iter().map(|error| crate::errors::to_python(py, error, &names)).collect();
            let analysis = Analysis::new(analysis, errors);
            let icmp_errors = icmp_errors.iter().map(icmp_row).collect();
            let indexes = indexes.iter().map(|index| index_of(py, index)).collect();
            Ok((analysis, packets, fragments, open_datagrams, icmp_errors, indexes))
        }
        Err(Failure::Read(_)) if watch.stopped() => Err(PyKeyboardInterrupt::new_err(())),
        Err(failure) => Err(failure_to_python(py, &failure, &names)),
    }
}

/// Finds the connections of a bucket in its `slices`, in order: each is an input, the number of packets before its run, and
/// the numbers that the inputs of its run have among all `inputs`.
///
/// Connections that take more than `room_bytes` are taken in parts. `timeless` says that no frame of any input has a time, `end_ns`
/// when the last one passed; `key_log` are secrets that the inputs hold. `icmp_errors` are those of all inputs; the ones at the places `translated` belong to this bucket if none
/// of its connections has the addresses that they quote, and those at `related` concern one of it. `shared` are limits that its connections share with those of other buckets;
/// none where there are no others.
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
#[pyfunction]
#[pyo3(signature = (slices, *, inputs, timeless = false, end_ns = None, room_bytes = None, icmp_errors = Vec::new(), translated = Vec::new(), related = Vec::new(), shared = None, key_log = None, progress = None))]
pub fn analyze_slices(
    py: Python<'_>,
    slices: Vec<(Input, u64, Vec<u16>)>,
    inputs: usize,
    timeless: bool,
    end_ns: Option<i64>,
    room_bytes: Option<usize>,
    icmp_errors: Vec<IcmpRow>,
    translated: Vec<u32>,
    related: Vec<u32>,
    shared: Option<Vec<Shared>>,
    key_log: Option<Vec<u8>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Analysis> {
    let watch = Arc::new(Watch::default());
    let names: Vec<String> = slices.iter().map(|(slice, ..)| slice.name()).collect();
    let options = Options { room_bytes, ..with_keys(key_log) };
    let icmp_errors = icmp_errors.into_iter().map(icmp_error).collect();
    let shared = shared.map(|rows| rows.into_iter().filter_map(given).collect());
    let inputs =
        Inputs { count: inputs, timeless, end_ns, icmp_errors, icmp_given: IcmpGiven { translated, related }, shared };
    let observed = Arc::clone(&watch);
    let work = move || bucket::analyze_slices(&|| opened(&slices, &observed), &inputs, &options, &*observed);
    finished(py, on_own_thread(py, &watch, progress.as_ref(), work)?, &names)
}

fn with_keys(key_log: Option<Vec<u8>>) -> Options {
    let options = Options::default();
    options.key_log.read(&key_log.unwrap_or_default());
    options
}

fn opened(slices: &[(Input, u64, Vec<u16>)], watch: &Watch) -> io::Result<Vec<Slice>> {
    let open_slice = |(slice, first_place, inputs): &(Input, u64, Vec<u16>)| {
        let opened = slice.open(&watch.stop, &watch.files);
        let reader = opened.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Slice { reader, first_place: *first_place, inputs: inputs.clone() })
    };
    slices.iter().map(open_slice).collect()
}

/// Finds what is no TCP in `slices` of frames without it, in order: each is an input, the number of packets before its run, and the numbers
/// that the inputs of its run have among all. `buckets` gave their outlines ([`Analysis::outlines`]) and the numbers of their connections
/// among all, as little-endian numbers of 32 bits. The result has no connections.
#[pyfunction]
#[pyo3(signature = (slices, buckets, *, key_log = None, progress = None))]
pub fn beyond(
    py: Python<'_>,
    slices: Vec<(Input, u64, Vec<u16>)>,
    buckets: Vec<(PyBackedBytes, PyBackedBytes)>,
    key_log: Option<Vec<u8>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Analysis> {
    let watch = Arc::new(Watch::default());
    let names: Vec<String> = slices.iter().map(|(slice, ..)| slice.name()).collect();
    let options = with_keys(key_log);
    let observed = Arc::clone(&watch);
    let work = move || {
        let numbers: Vec<Vec<u32>> = buckets.iter().map(|(_, numbers)| numbers_of(numbers)).collect();
        let parts = buckets.iter().zip(&numbers);
        let outlined: Vec<_> = parts.map(|((outlines, _), numbers)| Outlined { outlines, numbers }).collect();
        core_beyond::beyond(&|| opened(&slices, &observed), &outlined, &options, &*observed)
    };
    finished(py, on_own_thread(py, &watch, progress.as_ref(), work)?, &names)
}

fn numbers_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect()
}

/// What connections of several buckets show together: of each bucket what it packed ([`Analysis::packed`]) and the numbers of its
/// connections among all, as little-endian numbers of 32 bits. Returns a result without connections, and of each bucket the limits that
/// its connections share.
#[pyfunction]
pub fn merge_buckets(
    py: Python<'_>,
    buckets: Vec<(PyBackedBytes, PyBackedBytes, PyBackedBytes)>,
) -> PyResult<(Analysis, Vec<Vec<Shared>>)> {
    let numbers: Vec<Vec<u32>> = buckets.iter().map(|(.., numbers)| numbers_of(numbers)).collect();
    let found = py.detach(|| {
        let parts = buckets.iter().zip(&numbers);
        let buckets: Vec<Bucket<'_>> =
            parts.map(|((flows, servers, _), numbers)| Bucket { flows, servers, numbers }).collect();
        crossing::merged(&buckets)
    });
    let (merged, given) = found.ok_or_else(|| PyValueError::new_err("damaged parts of buckets"))?;
    Ok((Analysis::new(merged, Vec::new()), given.iter().map(|some| some.iter().map(shared_row).collect()).collect()))
}

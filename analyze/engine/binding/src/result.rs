//! A finished analysis as Python sees it: JSON through a callable, tables as [`Columns`].

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use vmtrace_core::analysis;
use vmtrace_core::flows::passings::Passing;
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::output::packets::{self, PacketChoice};
use vmtrace_core::output::{echoes, lookups};
use vmtrace_core::quic::KeptPacket;
use vmtrace_core::tcp::capture::lag::Lag;

use crate::columns::Columns;
use crate::writer::PythonWriter;

/// What one run of the engine measured.
#[pyclass(frozen, module = "vmtrace.analyze._engine")]
pub struct Analysis {
    /// What the engine gave.
    pub inner: analysis::Analysis,
    errors: Vec<PyErr>,
}

impl Analysis {
    /// Wraps the engine's result.
    pub fn new(result: analysis::Analysis, errors: Vec<PyErr>) -> Self {
        Self { inner: result, errors }
    }
}

#[pymethods]
impl Analysis {
    /// True if the reading was stopped before the end of the inputs.
    #[getter]
    fn interrupted(&self) -> bool {
        self.inner.interrupted
    }

    /// True if that was for want of memory.
    #[getter]
    fn exhausted(&self) -> bool {
        self.inner.is_exhausted
    }

    /// Attempts to open a connection, of SYNs without a reply, that are summed up.
    #[getter]
    fn unanswered(&self) -> u64 {
        self.inner.unanswered.all.attempts
    }

    /// What was wrong with inputs that could not be read, as exceptions.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.errors.iter().map(|error| error.value(py).clone().into_any().unbind()).collect()
    }

    /// Leaves the results in memory for good: for a program that ends with them. To give up a million connections one by one
    /// takes longer than to describe a tenth of them.
    fn keep_until_exit(slf: Py<Self>) {
        // One owner more than there ever will be.
        std::mem::forget(slf);
    }

    /// Writes the JSON document `vmtrace.analysis/1` by calling `write` with consecutive pieces of it.
    ///
    /// With `only_connections` (ascending) the document holds no connections but these.
    /// Limits are written interval by interval where there are few connections, unless `with_intervals` says it.
    #[pyo3(signature = (write, *, vmtrace_version, input_paths, only_connections = None, with_intervals = None))]
    fn write_json(
        &self,
        py: Python<'_>,
        write: Py<PyAny>,
        vmtrace_version: String,
        input_paths: Vec<String>,
        only_connections: Option<Vec<u32>>,
        with_intervals: Option<bool>,
    ) -> PyResult<()> {
        let header = JsonHeader { vmtrace_version, input_paths, only_connections, with_intervals };
        Ok(py.detach(|| self.inner.write_json(&mut PythonWriter::new(write), &header))?)
    }

    /// One row for each connection; columns are named by the JSON path joined with `_`. Only the rows (in the order
    /// given) and columns asked for, if any are.
    #[pyo3(signature = (*, names = None, rows = None))]
    fn connections(&self, py: Python<'_>, names: Option<Vec<String>>, rows: Option<Vec<usize>>) -> PyResult<Columns> {
        py.detach(|| {
            let names: Option<Vec<&str>> = names.as_ref().map(|names| names.iter().map(String::as_str).collect());
            Columns::new(match rows {
                Some(rows) => self.inner.connection_rows(&rows, names.as_deref()),
                None => self.inner.connection_columns(names.as_deref()),
            })
        })
    }

    /// Of a part of all connections what is needed of them to find the limits that they share with others, and the servers that they
    /// ask: both packed, for `merge_buckets`.
    fn packed<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 2] {
        let servers = py.detach(|| self.inner.servers().to_bytes());
        [PyBytes::new(py, &self.inner.packed), PyBytes::new(py, &servers)]
    }

    /// The same for `beyond`: what others have to know of them.
    fn outlines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.packed_outlines)
    }

    /// By number of the connection, the index of its lookup in the document.
    fn lookups_of_connections(&self, py: Python<'_>) -> HashMap<u32, u64> {
        py.detach(|| lookups::of_connections(&self.inner))
    }

    /// Secrets that the inputs hold, as a key log.
    #[getter]
    fn key_log<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let logs: Vec<_> = self.inner.inputs.iter().map(|input| input.facts.tls_key_log.as_slice()).collect();
        PyBytes::new(py, &logs.concat())
    }

    /// The number of connections.
    fn __len__(&self) -> usize {
        self.inner.connections.len()
    }

    /// Rows of the connections with the most bytes on the wire, the largest first.
    fn largest(&self, py: Python<'_>, most: usize) -> Vec<usize> {
        py.detach(|| self.inner.largest_connections(most))
    }

    /// One row for each packet of the connections asked for by `detail_connections`. Only those of some of these connections,
    /// of them the ones at some places, and some columns, if they are asked for.
    #[pyo3(signature = (*, connections = None, places = None, names = None))]
    fn packets(
        &self,
        py: Python<'_>,
        connections: Option<Vec<u32>>,
        places: Option<(usize, usize)>,
        names: Option<Vec<String>>,
    ) -> PyResult<Columns> {
        py.detach(|| {
            let names: Option<Vec<&str>> = names.as_ref().map(|names| names.iter().map(String::as_str).collect());
            let (connections, names) = (connections.as_deref(), names.as_deref());
            let places = places.map(|(first, end)| first..end);
            Columns::new(packets::chosen_packet_columns(&self.inner, PacketChoice { connections, places, names }))
        })
    }

    /// One row for each address answered to a name lookup (DNS) in the capture.
    fn lookups(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(lookups::lookup_columns(&self.inner)))
    }

    /// One row for each ICMP echo request in the capture, in their order.
    fn echoes(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(echoes::echo_columns(&self.inner)))
    }

    /// For each connection the number of its first packet among all packets: little-endian numbers of 64 bits.
    fn orders<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let orders: Vec<u8> = self.inner.connections.iter().flat_map(|summary| summary.order.to_le_bytes()).collect();
        PyBytes::new(py, &orders)
    }

    /// Steps of the captures' clocks as connections see them: number of the input, and when.
    #[getter]
    fn clock_steps(&self) -> Vec<(u16, i64)> {
        self.inner.clock_steps.iter().map(|step| (step.input, step.time_ns)).collect()
    }

    /// Hosts that were recorded late: number of the input, address, by how many nanoseconds.
    #[getter]
    fn lags<'py>(&self, py: Python<'py>) -> Vec<(u16, Bound<'py, PyBytes>, i64)> {
        let as_python = |lag: &Lag| (lag.input, PyBytes::new(py, lag.host.bytes()), lag.lag_ns);
        self.inner.lags.iter().map(as_python).collect()
    }

    /// Of a part of all connections, for each ICMP error: whether a connection has the addresses that it quotes, and if none has,
    /// how many fit it otherwise.
    #[getter]
    fn icmp_fates(&self) -> Vec<(bool, u32, u32)> {
        self.inner.icmp_fates.iter().map(|fate| (fate.is_owned, fate.candidates, fate.related)).collect()
    }

    /// For each of these connections the number of its input and the hash of its flow.
    fn flows(&self, connections: Vec<u32>) -> Vec<(u16, u32)> {
        let (known, _) = self.inner.known(&connections, 0..u16::MAX);
        let input = |number: u32| self.inner.connections.get(number as usize - 1).map_or(0, |summary| summary.input);
        known.iter().map(|one| (input(one.number), one.flow_hash())).collect()
    }

    /// The datagrams one by one, if they were asked for: times (numbers of 64 bits), digests (64), numbers of flows (32), and whether
    /// the flow's client sent them (8), all little-endian; bytes of the payload that the shortest capture holds, and how many
    /// datagrams are not kept.
    #[allow(clippy::type_complexity, reason = "Python unpacks it")]
    fn datagrams<'py>(&self, py: Python<'py>) -> Option<([Bound<'py, PyBytes>; 4], Option<u32>, u64)> {
        let flows = &self.inner.datagrams.flows;
        let passings = flows.passings()?;
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        let list = passings.list();
        let clients: Vec<usize> = flows.list().iter().map(|flow| flow.client()).collect();
        let from_client = |one: &Passing| clients.get(one.flow as usize) == Some(&usize::from(one.side));
        let columns = [
            bytes(list.iter().flat_map(|one| one.time_ns.to_le_bytes()).collect()),
            bytes(list.iter().flat_map(|one| one.digest.to_le_bytes()).collect()),
            bytes(list.iter().flat_map(|one| (one.flow + 1).to_le_bytes()).collect()),
            bytes(list.iter().map(|one| u8::from(from_client(one))).collect()),
        ];
        Some((columns, passings.least_captured(), passings.not_kept()))
    }

    /// Packets of QUIC that were opened with keys, by the number of their flow, if datagrams were asked for: times and packet numbers
    /// (64 bits), spaces and whether the server sent them (8).
    fn quic_packets<'py>(&self, py: Python<'py>) -> Vec<(usize, [Bound<'py, PyBytes>; 4])> {
        let flows = self.inner.datagrams.flows.list().iter().zip(1..);
        let kept = flows.filter_map(|(flow, number)| Some((number, flow.quic.as_ref()?.kept_packets()?)));
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        let columns = |list: &[KeptPacket]| {
            [
                bytes(list.iter().flat_map(|one| one.time_ns.to_le_bytes()).collect()),
                bytes(list.iter().flat_map(|one| one.number.to_le_bytes()).collect()),
                bytes(list.iter().map(|one| one.space).collect()),
                bytes(list.iter().map(|one| u8::from(one.from_server)).collect()),
            ]
        };
        kept.map(|(number, list)| (number, columns(list))).collect()
    }

    /// Answers to name lookups beyond those kept.
    #[getter]
    fn lookups_not_kept(&self) -> u64 {
        self.inner.lookups.not_kept()
    }

    /// ICMP echo requests beyond those kept.
    #[getter]
    fn echoes_not_kept(&self) -> u64 {
        self.inner.echoes.not_kept()
    }

    /// One row for each second of the capture, with its SYNs and their fate.
    fn syns(&self, py: Python<'_>) -> PyResult<Columns> {
        py.detach(|| Columns::new(self.inner.syn_columns()))
    }
}

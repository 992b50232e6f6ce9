//! Frames without a TCP segment, each handed to what it concerns: names, ICMP, flows, neighbours, the count of protocols.

use crate::analysis::icmp_errors::Gathered;
use crate::analysis::options::Options;
use crate::analysis::tunnels::GatheredTunnels;
use crate::decode::batch::Batch;
use crate::decode::fragments::Reassembler;
use crate::decode::numbers::{DNS_PORT, protocol};
use crate::decode::other::OtherKind;
use crate::decode::reason::Undecoded;
use crate::decode::{echo, icmp};
use crate::dns::lookups::Lookups;
use crate::flows::neighbours::Neighbours;
use crate::flows::protocols::{Amount, Protocols};
use crate::flows::table::Flows;
use crate::read::record::Chunk;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// Names looked up over UDP; those over TCP are with their connections.
    pub lookups: Lookups,
    /// ICMP errors about TCP, and echoes.
    pub icmp: Gathered,
    /// Datagram flows.
    pub flows: Flows,
    /// Who asked for whom on the link.
    pub neighbours: Neighbours,
    /// Frames by protocol.
    pub protocols: Protocols,
    /// Tunnels that connections were found in.
    pub tunnels: GatheredTunnels,
    /// ICMP errors that quote no flow and no TCP segment.
    pub errors_of_none: u64,
}

impl Others {
    /// Empty; QUIC is opened with the options' keys.
    pub fn new(options: &Options) -> Self {
        Self { flows: Flows::new(&options.key_log, options.datagrams_known_by_bytes), ..Self::default() }
    }

    /// Fragments that never became a datagram are counted, too.
    pub fn end_fragments(&mut self, reassembler: &Reassembler) {
        self.lookups.cut_answers(reassembler.beginnings());
        let [packets, wire_bytes] = reassembler.given_up();
        self.protocols.add_unread(Undecoded::FragmentIncomplete, Amount { packets, wire_bytes });
    }

    /// Forgets what passed before `before_ns`; what is summed up stays.
    pub(crate) fn forget(&mut self, before_ns: i64) {
        self.lookups.forget(before_ns);
        self.icmp.forget(before_ns);
        self.flows.forget(before_ns);
    }

    /// Takes those of a decoded chunk, in order of time.
    pub fn chunk(&mut self, chunk: &Chunk, batch: &Batch) {
        self.tunnels.chunk(chunk, batch, |_, _| ());
        self.chunk_without_tunnels(chunk, batch);
    }

    /// The same but for the tunnels of connections, which the caller takes by [`GatheredTunnels::chunk`].
    pub fn chunk_without_tunnels(&mut self, chunk: &Chunk, batch: &Batch) {
        for at in &batch.others {
            let Some(record) = chunk.records.get(at.record as usize) else { continue };
            self.protocols.add(at);
            let tunnels = || batch.tunnels_of(at, chunk);
            match at.other.kind {
                OtherKind::Ip(protocol::UDP) => {
                    self.lookups.datagram(&chunk.bytes, record, &at.other);
                    self.flows.packet(&chunk.bytes, record, at, tunnels);
                }
                OtherKind::Ip(protocol::ICMP | protocol::ICMP_V6) => {
                    if let Some(echo) = echo::read(&at.other, &chunk.bytes, record) {
                        self.icmp.echoes.add(echo);
                        self.flows.packet(&chunk.bytes, record, at, tunnels);
                    } else if let Some(error) = icmp::read(&at.other, &chunk.bytes, record) {
                        if error.protocol == protocol::TCP {
                            self.icmp.add(error);
                        } else {
                            self.errors_of_none += u64::from(!self.flows.icmp_error(&error));
                            if error.protocol == protocol::UDP && error.ports[1] == DNS_PORT {
                                self.lookups.refuse(&error);
                            }
                        }
                    } else {
                        self.neighbours.take(&chunk.bytes, record, &at.other);
                    }
                }
                OtherKind::Ip(_) => self.flows.packet(&chunk.bytes, record, at, tunnels),
                OtherKind::EtherType(_) => self.neighbours.take(&chunk.bytes, record, &at.other),
                OtherKind::Unread => {}
            }
        }
    }
}

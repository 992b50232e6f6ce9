//! Which host it was if the path was not: where the rules cannot decide between both ([`Cause::HostOrPath`]).

use crate::tcp::gaps::cause::Cause;
use crate::tcp::gaps::evidence::{CapturePlace, GapEvidence};

/// The hosts of a direction's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// It sends the data.
    Sender,
    /// It receives it.
    Receiver,
}

/// Which host it was if the path was not, of [`Cause::HostOrPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicion {
    /// Whose host.
    pub host: Host,
    /// What its stall is called where the capture was made.
    pub stall: Cause,
    /// The silence was longer than the time of a probe.
    pub past_probe: bool,
}

/// Whom a gap that a host or the path has made speaks against: what waited did so before the host that was to take it in.
pub fn suspicion(evidence: &GapEvidence) -> Option<Suspicion> {
    let past_probe = evidence.outlasts_two_round_trips();
    let local = |host| Some(Suspicion { host, stall: Cause::LocalHostStall, past_probe });
    let remote = |host| Some(Suspicion { host, stall: Cause::RemoteHostStall, past_probe });
    match evidence.place {
        CapturePlace::Receiver if evidence.data_was_held() => local(Host::Receiver),
        CapturePlace::Receiver if evidence.echo_is_stale() == Some(true) => remote(Host::Sender),
        CapturePlace::Sender => match evidence.answer?.was_held()? {
            true => local(Host::Sender),
            false if evidence.answer?.after_delayed || evidence.answer?.echoes_unseen => None,
            false => remote(Host::Receiver),
        },
        _ => None,
    }
}

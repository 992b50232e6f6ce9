//! Whose time it is: the owners of what a connection waits for.

/// See the module. As in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The application that opened the connection.
    ClientApplication,
    /// Its kernel and machine.
    ClientHost,
    /// The application that serves.
    ServerApplication,
    /// Its kernel and machine.
    ServerHost,
    /// The path of the data, and what stands on it.
    Path,
    /// The path of its acknowledgements.
    PathBack,
    /// Nothing shows it.
    Unknown,
}

impl Owner {
    /// All.
    pub const ALL: [Self; 7] = [
        Self::ClientApplication,
        Self::ClientHost,
        Self::ServerApplication,
        Self::ServerHost,
        Self::Path,
        Self::PathBack,
        Self::Unknown,
    ];

    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientApplication => "client_application",
            Self::ClientHost => "client_host",
            Self::ServerApplication => "server_application",
            Self::ServerHost => "server_host",
            Self::Path => "path",
            Self::PathBack => "path_back",
            Self::Unknown => "unknown",
        }
    }
}

/// Whose time a factor's is, as seen from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    SenderApplication,
    SenderHost,
    ReceiverApplication,
    ReceiverHost,
    ClientApplication,
    ServerApplication,
    Path,
    PathBack,
    Unknown,
}

impl Whose {
    /// Who that is for data of the client (0) or the server (1).
    pub(crate) fn of(self, side: usize) -> Owner {
        let applications = [Owner::ClientApplication, Owner::ServerApplication];
        let hosts = [Owner::ClientHost, Owner::ServerHost];
        match self {
            Self::SenderApplication => applications[side & 1],
            Self::SenderHost => hosts[side & 1],
            Self::ReceiverApplication => applications[1 - (side & 1)],
            Self::ReceiverHost => hosts[1 - (side & 1)],
            Self::ClientApplication => Owner::ClientApplication,
            Self::ServerApplication => Owner::ServerApplication,
            Self::Path => Owner::Path,
            Self::PathBack => Owner::PathBack,
            Self::Unknown => Owner::Unknown,
        }
    }
}

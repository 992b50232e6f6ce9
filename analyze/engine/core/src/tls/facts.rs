//! The TLS facts of a connection as they are handed on.

/// How far TLS 1.3 early data (0-RTT) went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyData {
    /// The client did not ask for it.
    None,
    /// The client offered it in its hello; none was seen.
    Offered,
    /// Early data was sent; whether the server took it does not show.
    Sent,
    /// Early data was sent (or offered and ended at once) and the server took it.
    Accepted,
}

/// What can be said of one connection's TLS without decrypting. What is `None` without an entry in `not_measured` is a
/// fact: no server name was sent, no protocol was negotiated.
#[derive(Debug, Clone, PartialEq)]
pub struct TlsFacts {
    /// Negotiated version: "1.3", "1.2", "1.1", "1.0", "SSL 3.0", or "0x7f17" for a draft.
    pub version: Option<String>,
    /// Negotiated cipher suite by its IANA name.
    pub cipher: Option<String>,
    /// Server name in the (first) ClientHello.
    pub sni: Option<String>,
    /// Application protocol the server chose, which TLS 1.3 encrypts.
    pub alpn: Option<String>,
    /// Application protocols the client offered.
    pub alpn_offered: Vec<String>,
    /// An earlier session was resumed: a pre-shared key was selected (TLS 1.3), or the server went from its hello straight
    /// to ChangeCipherSpec or echoed the client's session id (before).
    pub resumed: Option<bool>,
    /// The server asked for another ClientHello.
    pub hello_retry: bool,
    /// How far early data went.
    pub early_data: EarlyData,
    /// Both Finished were seen (TLS 1.3: the client's).
    pub handshake_complete: bool,
    /// From the ClientHello's first byte to the last byte of the last Finished: up to TLS 1.2 the later of the first
    /// encrypted handshake records after the two ChangeCipherSpecs, in TLS 1.3 the client's; as seen at the capture point.
    pub handshake_s: Option<f64>,
    /// Client flights that had to wait for a server flight before application data could go (without False Start or early
    /// data): TLS 1.3 needs 1, a hello retry 1 more, TLS 1.2 needs 2, or 1 when resumed.
    pub handshake_round_trips: Option<u32>,
    /// Stream bytes of the client's handshake records with their headers, ChangeCipherSpec and Finished included.
    pub client_handshake_bytes: Option<u64>,
    /// Likewise the server's, with session tickets where they can be told.
    pub server_handshake_bytes: Option<u64>,
    /// The server's Certificate message with its header; encrypted in TLS 1.3.
    pub certificate_bytes: Option<u64>,
    /// Host names in the server's certificate (common name, then alternative names; the first few); encrypted in TLS 1.3.
    pub certificate_names: Vec<String>,
    /// Names in it beyond these.
    pub certificate_names_not_listed: u32,
    /// Records in both directions that passed completely.
    pub records: Option<u64>,
    /// What is neither handshake nor application data: headers and protection of application data records, alerts and
    /// heartbeats entirely. With the two handshake sizes, `application_bytes` and `bytes_before_tls` it sums to the bytes of
    /// both streams.
    pub record_overhead_bytes: Option<u64>,
    /// Plaintext bytes inside application data records.
    pub application_bytes: Option<u64>,
    /// CBC padding cannot be seen: `record_overhead_bytes` is a lower and `application_bytes` an upper bound, off by less
    /// than one block a record.
    pub padding_unknown: bool,
    /// Stream bytes before TLS began (a CONNECT request, STARTTLS, ...), both directions.
    pub bytes_before_tls: u64,
    /// "client: close_notify", "server: encrypted alert" and the like; in TLS 1.3 a direction's last record as long as an
    /// alert counts as one.
    pub alerts: Vec<String>,
    /// Fields that are `None` because they could not be measured, each with the reason.
    pub not_measured: Vec<(&'static str, &'static str)>,
}

//! The first bytes of a message, where they were captured in the clear: what they reveal of the protocol.

/// What a message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageOpening {
    /// A request of HTTP/1.
    HttpRequest,
    /// Several of them in one packet: their responses come together.
    HttpPipelined,
    /// An interim response of HTTP/1 (100 Continue, 103 Early Hints).
    HttpInterim,
    /// HTTP/1 ends: 101 Switching Protocols.
    HttpUpgraded,
    /// HTTP/2 without TLS, whose requests go side by side.
    Http2,
    /// SSH, whose messages are no requests.
    Ssh,
    /// TLS: the server replies with its hello.
    ClientHello,
    /// Too little was captured to know.
    Cut,
    /// Anything else.
    Other,
}

/// Whether a request waits for `100 Continue` before its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    /// It does not.
    No,
    /// The end of its head was not captured.
    Unknown,
    /// Its head says so.
    Continue,
}

const METHODS: [&[u8]; 9] =
    [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"CONNECT ", b"TRACE "];

const EXPECT_CONTINUE: &[u8] = b"Expect: 100-continue";

const HOST: &[u8] = b"Host:";

/// The longest name (RFC 1035 section 2.3.4).
const MOST_NAME_BYTES: usize = 255;

/// Bytes that reveal TLS.
const FEWEST_BYTES: usize = 6;

/// Bytes of a packet that are searched for a second request.
const MOST_SEARCHED: usize = 16 << 10;

impl MessageOpening {
    /// By the captured beginning of a packet's `length` bytes.
    pub fn of(bytes: &[u8], length: u32) -> Self {
        match bytes {
            [b'S', b'S', b'H', b'-', ..] => Self::Ssh,
            [b'P', b'R', b'I', b' ', b'*', b' ', b'H', b'T', b'T', b'P', b'/', b'2', ..] => Self::Http2,
            [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'1', b'0', b'1', ..] => Self::HttpUpgraded,
            [b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'1', ..] => Self::HttpInterim,
            bytes if begins_request(bytes) && holds_another(bytes) => Self::HttpPipelined,
            bytes if begins_request(bytes) => Self::HttpRequest,
            [22, 3, _, _, _, 1, ..] => Self::ClientHello,
            bytes if bytes.len() < FEWEST_BYTES && bytes.len() < length as usize => Self::Cut,
            _ => Self::Other,
        }
    }

    /// The head of a request asks for an interim response before its body (RFC 9110 section 10.1.1), or may do so in what was not
    /// captured of it.
    pub fn expects_continue(self, bytes: &[u8], length: u32) -> Expects {
        let head = bytes.get(..MOST_SEARCHED).unwrap_or(bytes);
        let asks = |line: &[u8]| line.eq_ignore_ascii_case(EXPECT_CONTINUE);
        let may_have_body = self == Self::HttpRequest && head.first() == Some(&b'P');
        let is_cut = bytes.len() < length as usize;
        let ends = head.windows(4).any(|four| four == b"\r\n\r\n");
        if !may_have_body || !is_cut && !head.ends_with(b"\r\n\r\n") {
            Expects::No
        } else if head.split(|byte| *byte == b'\n').any(|line| asks(line.trim_ascii())) {
            Expects::Continue
        } else if is_cut && !ends {
            Expects::Unknown
        } else {
            Expects::No
        }
    }

    /// Exchanges must know of it.
    pub fn is_special(self) -> bool {
        !matches!(self, Self::Other | Self::Cut | Self::HttpRequest | Self::ClientHello)
    }

    /// A server that serves has something to say to it.
    pub fn asks(self) -> bool {
        matches!(self, Self::HttpRequest | Self::HttpPipelined | Self::Http2 | Self::ClientHello)
    }
}

/// The name of the host that a request of HTTP/1 asks for (RFC 9110 section 7.2), if its line was captured to its end: no port,
/// and no address.
pub(crate) fn host_of(bytes: &[u8]) -> Option<Box<str>> {
    let searched = bytes.get(..MOST_SEARCHED).unwrap_or(bytes);
    let lines = searched.split_inclusive(|byte| *byte == b'\n').take_while(|line| line.trim_ascii() != b"");
    let mut whole = lines.filter(|line| line.ends_with(b"\n"));
    let is_host = |line: &&[u8]| line.get(..HOST.len()).is_some_and(|name| name.eq_ignore_ascii_case(HOST));
    let host = whole.find(is_host)?[HOST.len()..].trim_ascii().split(|byte| *byte == b':').next()?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_any = host.iter().any(u8::is_ascii_alphabetic) && host.len() <= MOST_NAME_BYTES && host.iter().all(is_name);
    is_any.then(|| String::from_utf8_lossy(host).into())
}

fn begins_request(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| bytes.starts_with(method))
}

/// Behind the empty line that ends a head without a body another request begins.
fn holds_another(bytes: &[u8]) -> bool {
    let searched = bytes.get(..MOST_SEARCHED).unwrap_or(bytes);
    searched
        .windows(4)
        .enumerate()
        .filter(|(_, window)| *window == b"\r\n\r\n")
        .any(|(index, _)| searched.get(index + 4..).is_some_and(begins_request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_are_known_by_their_first_bytes() {
        let known: [(&[u8], MessageOpening); 9] = [
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", MessageOpening::HttpRequest),
            (b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", MessageOpening::HttpPipelined),
            (b"HTTP/1.1 100 Continue\r\n\r\n", MessageOpening::HttpInterim),
            (b"HTTP/1.1 101 Switching Protocols\r\n", MessageOpening::HttpUpgraded),
            (b"HTTP/1.1 200 OK\r\n", MessageOpening::Other),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", MessageOpening::Http2),
            (b"SSH-2.0-OpenSSH_9.2\r\n", MessageOpening::Ssh),
            (b"\x16\x03\x01\x02\x00\x01\x00", MessageOpening::ClientHello),
            (b"", MessageOpening::Other),
        ];
        for (bytes, opening) in known {
            assert_eq!(MessageOpening::of(bytes, bytes.len() as u32), opening, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_head_that_asks_for_continue_ends_its_packet() {
        let expects =
            |bytes: &[u8]| MessageOpening::of(bytes, bytes.len() as u32).expects_continue(bytes, bytes.len() as u32);
        assert_eq!(expects(b"PUT /a HTTP/1.1\r\nHost: b\r\nexpect: 100-Continue\r\n\r\n"), Expects::Continue);
        assert_eq!(expects(b"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\n\r\nbody"), Expects::No, "it did not wait");
        assert_eq!(expects(b"PUT /a HTTP/1.1\r\nX-Expect: 100-continue\r\n\r\n"), Expects::No);
        assert_eq!(expects(b"Expect: 100-continue\r\n\r\n"), Expects::No);
    }

    #[test]
    fn a_head_that_was_cut_may_ask_for_continue() {
        let expects = |bytes: &[u8]| MessageOpening::of(bytes, 716).expects_continue(bytes, 716);
        assert_eq!(expects(b"PUT /a HTTP/1.1\r\nHost: b\r\nAccept"), Expects::Unknown);
        assert_eq!(expects(b"PUT /a HTTP/1.1\r\nHost: b\r\n\r\nbody"), Expects::No, "its head is complete");
        assert_eq!(expects(b"GET /a HTTP/1.1\r\nHost: b\r\nAccept"), Expects::No);
    }

    #[test]
    fn a_host_is_named_by_a_whole_line_of_the_head() {
        let host = |bytes: &[u8]| host_of(bytes).map(String::from);
        assert_eq!(host(b"GET / HTTP/1.1\r\nAccept: */*\r\nhost:  a.test:8080 \r\n\r\n"), Some("a.test".into()));
        let none: [&[u8]; 7] = [
            b"GET / HTTP/1.1\r\nHost: a.te",
            b"GET / HTTP/1.1\r\n\r\nHost: a.test\r\n",
            b"GET / HTTP/1.1\r\nHost: \r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: a\x1b[1m\r\n\r\n",
            b"GET / HTTP/1.1\r\nX-Host: a.test\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: 192.0.2.1:80\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n",
        ];
        assert_eq!(none.map(host), [const { None }; 7]);
    }

    #[test]
    fn a_few_bytes_of_many_say_nothing() {
        assert_eq!(
            [MessageOpening::of(b"", 517), MessageOpening::of(b"\x16\x03", 517), MessageOpening::of(b"+OK\r\n", 5)],
            [MessageOpening::Cut, MessageOpening::Cut, MessageOpening::Other]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_something(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = (MessageOpening::of(&bytes, 60), host_of(&bytes));
        }
    }
}

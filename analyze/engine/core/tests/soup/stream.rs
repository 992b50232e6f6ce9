//! What the sides say: the bytes of a stream from any offset on, so that payload feeds the TLS and DNS readers, too.

/// What a connection carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// The snap length leaves nothing of it.
    Cut,
    /// No protocol that is known.
    Plain,
    /// TLS records: a hello, then application data.
    Tls,
    /// DNS messages behind their lengths.
    Dns,
}

/// Application data of one TLS record, header included.
const RECORD: u64 = 1205;
const HELLO: u64 = 120;

/// Captured bytes of the stream of `side` (0 is the client) at `offset`, at most `most` of `length`.
pub fn bytes_at(content: Content, side: usize, offset: u64, length: u32, most: usize) -> Vec<u8> {
    let count = (length as usize).min(most) as u64;
    let byte = |at: u64| match content {
        Content::Cut => None,
        Content::Plain => Some(b'a' + (at % 23) as u8),
        Content::Tls => Some(tls_byte(side, at)),
        Content::Dns => Some(dns_byte(side, at)),
    };
    (0..count).map_while(|at| byte(offset.wrapping_add(at))).collect()
}

fn tls_byte(side: usize, at: u64) -> u8 {
    if at < HELLO {
        let kind = 1 + side as u8;
        let head = [22, 3, 3, 0, HELLO as u8 - 5, kind, 0, 0, HELLO as u8 - 9, 3, 3];
        return head.get(at as usize).copied().unwrap_or(if at == 43 { 0 } else { 1 });
    }
    let within = (at - HELLO) % RECORD;
    let body = (RECORD - 5) as u16;
    [23, 3, 3, (body >> 8) as u8, body as u8].get(within as usize).copied().unwrap_or((at % 251) as u8)
}

fn dns_byte(side: usize, at: u64) -> u8 {
    const QUESTION: &[u8] = b"\0\x1c\0\x07\x01\0\0\x01\0\0\0\0\0\0\x02s3\x07example\0\0\x01\0\x01";
    let byte = QUESTION[(at % QUESTION.len() as u64) as usize];
    // The response bit, in the flags of the message.
    if side == 1 && at % QUESTION.len() as u64 == 4 { byte | 0x80 } else { byte }
}

//! TLS records and handshake messages, byte by byte (RFC 8446).

pub fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_be_bytes();
    [&[kind, 3, 3, length[0], length[1]], body].concat()
}

pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[kind, length[1], length[2], length[3]], body].concat()
}

pub fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &(body.len() as u16).to_be_bytes(), body].concat()
}

/// What ClientHello and ServerHello have in common, with `middle` between session and extensions.
pub fn hello_body(session_id: &[u8], middle: &[u8], extensions: &[Vec<u8>]) -> Vec<u8> {
    let extensions = extensions.concat();
    let list_length = (extensions.len() as u16).to_be_bytes();
    [&[3, 3], &[7; 32][..], &[session_id.len() as u8], session_id, middle, &list_length, &extensions].concat()
}

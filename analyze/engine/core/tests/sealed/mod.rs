//! QUIC packets as an endpoint seals them, for tests: keys by HKDF and AEAD of `ring`, as the engine opens them.

use crate::messages::{extension, hello_body, message};
use ring::aead::quic::{AES_128, HeaderProtectionKey};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

pub const RANDOM: [u8; 32] = [7; 32];
pub const ODCID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
pub const CLIENT_ID: [u8; 8] = [0xc1; 8];
pub const SERVER_ID: [u8; 8] = [0x5e; 8];
const SALT: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

pub fn expand(secret: &Prk, label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let sizes = [0, length as u8, label.len() as u8];
    let info: [&[u8]; 3] = [&sizes, label.as_bytes(), &[0]];
    let mut out = vec![0; length];
    secret.expand(&info, Length(length)).unwrap().fill(&mut out).unwrap();
    out
}

pub fn initial_secret(side: usize, destination: &[u8]) -> Vec<u8> {
    let secret = Salt::new(HKDF_SHA256, &SALT).extract(destination);
    expand(&secret, ["client in", "server in"][side], 32)
}

/// The secret after a key update.
pub fn updated(secret: &[u8]) -> Vec<u8> {
    expand(&Prk::new_less_safe(HKDF_SHA256, secret), "quic ku", 32)
}

/// Seals a packet whose header ends with its number, two bytes long. `header_secret` is that of the header key.
pub fn seal(secret: &[u8], header_secret: &[u8], header: &[u8], number: u16, contents: &[u8]) -> Vec<u8> {
    let [secret, header_secret] = [secret, header_secret].map(|secret| Prk::new_less_safe(HKDF_SHA256, secret));
    let mut nonce: [u8; 12] = expand(&secret, "quic iv", 12).try_into().unwrap();
    for (byte, of_number) in nonce[10..].iter_mut().zip(number.to_be_bytes()) {
        *byte ^= of_number;
    }
    let mut packet = [header, &number.to_be_bytes()].concat();
    let mut sealed = contents.to_vec();
    sealed.resize(sealed.len().max(4), 0);
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &expand(&secret, "quic key", 16)).unwrap());
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::from(&packet), &mut sealed).unwrap();
    let mask = HeaderProtectionKey::new(&AES_128, &expand(&header_secret, "quic hp", 16)).unwrap();
    let mask = mask.new_mask(&sealed[2..18]).unwrap();
    packet[0] ^= mask[0] & if packet[0] & 0x80 != 0 { 0x0f } else { 0x1f };
    let at = header.len();
    packet[at] ^= mask[1];
    packet[at + 1] ^= mask[2];
    [packet, sealed].concat()
}

fn long_header(kind: u8, ids: [&[u8]; 2], token: Option<&[u8]>, contents: usize) -> Vec<u8> {
    let length = (0x4000 | (2 + contents.max(4) + 16)) as u16;
    let mut header = vec![0xc1 | kind << 4, 0, 0, 0, 1];
    for id in ids {
        header.push(id.len() as u8);
        header.extend(id);
    }
    if let Some(token) = token {
        header.push(token.len() as u8);
        header.extend(token);
    }
    header.extend(length.to_be_bytes());
    header
}

/// An Initial; `ids` are destination and source.
pub fn initial(side: usize, keyed_by: &[u8], ids: [&[u8]; 2], token: &[u8], number: u16, contents: &[u8]) -> Vec<u8> {
    let secret = initial_secret(side, keyed_by);
    seal(&secret, &secret, &long_header(0, ids, Some(token), contents.len()), number, contents)
}

pub fn handshake(secret: &[u8], ids: [&[u8]; 2], number: u16, contents: &[u8]) -> Vec<u8> {
    seal(secret, secret, &long_header(2, ids, None, contents.len()), number, contents)
}

/// A packet with a short header. `first` holds the fixed bit, the spin bit and the key phase.
pub fn short(secrets: [&[u8]; 2], first: u8, destination: &[u8], number: u16, contents: &[u8]) -> Vec<u8> {
    seal(secrets[0], secrets[1], &[&[0x41 | first], destination].concat(), number, contents)
}

pub fn crypto(offset: u16, data: &[u8]) -> Vec<u8> {
    [&[6][..], &(0x4000 | offset).to_be_bytes(), &(0x4000 | data.len() as u16).to_be_bytes(), data].concat()
}

/// A ClientHello for web.lab.test and h3, with transport parameters.
pub fn client_hello(parameters: &[u8]) -> Vec<u8> {
    let name = b"web.lab.test";
    let sni = [&[0, name.len() as u8 + 3, 0, 0, name.len() as u8][..], name].concat();
    let extensions = [extension(0, &sni), extension(16, &[0, 3, 2, b'h', b'3']), extension(57, parameters)];
    let mut body = hello_body(&[], &[0, 2, 0x13, 1, 1, 0], &extensions);
    body[2..34].copy_from_slice(&RANDOM);
    message(1, &body)
}

pub fn server_hello() -> Vec<u8> {
    message(2, &hello_body(&[], &[0x13, 1, 0], &[extension(43, &[3, 4])]))
}

//! Secrets of TLS and QUIC connections in NSS's key log format: a label, the client's random and a secret on each line.

use std::collections::HashMap;

/// Secrets that are kept.
const MAX_SECRETS: usize = 1 << 20;

/// Longest secret.
const MAX_SECRET_BYTES: usize = 64;

/// Bytes of a client's random.
const RANDOM_BYTES: usize = 32;

/// What a secret is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// Master secret, up to TLS 1.2.
    Master,
    /// Handshake messages of the client (0) or the server (1).
    Handshake(usize),
    /// The first secret of application data.
    Traffic(usize),
}

impl Label {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "CLIENT_RANDOM" => Self::Master,
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Self::Handshake(0),
            "SERVER_HANDSHAKE_TRAFFIC_SECRET" => Self::Handshake(1),
            "CLIENT_TRAFFIC_SECRET_0" => Self::Traffic(0),
            "SERVER_TRAFFIC_SECRET_0" => Self::Traffic(1),
            _ => return None,
        })
    }
}

/// See the module.
#[derive(Default)]
pub struct KeyLog {
    secrets: HashMap<([u8; RANDOM_BYTES], Label), Box<[u8]>>,
    /// Lines that hold no secret.
    unread_lines: u64,
}

/// Secrets are not printed.
impl std::fmt::Debug for KeyLog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} secrets", self.secrets.len())
    }
}

impl KeyLog {
    /// Adds the lines of a file or of a block of decryption secrets.
    pub fn read(&mut self, text: &[u8]) {
        for line in text.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            self.unread_lines += u64::from(self.line(line).is_none());
        }
    }

    /// Nothing when it holds no secret. Labels that are of no use here are passed over.
    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let label = str::from_utf8(words.next()?).ok()?;
        let random: [u8; RANDOM_BYTES] = hexadecimal(words.next()?, RANDOM_BYTES)?.try_into().ok()?;
        let secret = hexadecimal(words.next()?, MAX_SECRET_BYTES)?;
        let label = Label::of(label);
        if let Some(label) = label.filter(|_| self.secrets.len() < MAX_SECRETS) {
            self.secrets.insert((random, label), secret.into());
        }
        Some(())
    }

    /// A secret of the connection whose client sent this random.
    pub(crate) fn secret(&self, random: &[u8], label: Label) -> Option<&[u8]> {
        self.secrets.get(&(random.try_into().ok()?, label)).map(|secret| &**secret)
    }

    /// There is no secret in it.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// How many secrets it holds, and how many lines hold none.
    pub fn counts(&self) -> [u64; 2] {
        [self.secrets.len() as u64, self.unread_lines]
    }
}

fn hexadecimal(text: &[u8], most_bytes: usize) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = pairs.iter().map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8));
    (!pairs.is_empty() && pairs.len() <= most_bytes).then(|| bytes.collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_hold_no_secret_are_counted() {
        let random = "ab".repeat(32);
        let mut log = KeyLog::default();
        log.read(format!("# text\r\nCLIENT_RANDOM {random} 0102\r\n\nSERVER_TRAFFIC_SECRET_0 {random} xy\nEXPORTER_SECRET {random} 01\nno secret").as_bytes());
        assert_eq!(log.counts(), [1, 2]);
        assert_eq!(log.secret(&[0xab; 32], Label::Master), Some(&[1, 2][..]));
        assert_eq!(log.secret(&[0xab; 32], Label::Traffic(1)), None);
        assert_eq!(log.secret(&[0xab; 31], Label::Master), None);
    }
}

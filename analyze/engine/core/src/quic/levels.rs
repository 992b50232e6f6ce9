//! Packets under the keys of a key log: those of the handshake, and application data through key updates (RFC 9001 section 6).

use std::ops::Range;

use crate::quic::protection::{self, HeaderKey, PacketKeys};
use crate::quic::version::Version;
use crate::secrets::SharedKeys;
use crate::secrets::aead::{Cipher, Opener};
use crate::secrets::derive::{Hash, expand_label};
use crate::secrets::key_log::Label;

/// The key phase in the first byte of a short header.
const KEY_PHASE: u8 = 0x04;

/// Packets that may fail to open before a level's keys are given up.
const MAX_FAILED: u64 = 256;

/// What is known of a connection by the time that keys are looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Session<'a> {
    pub(super) random: &'a [u8],
    /// Suite of the ServerHello; none if that was not read.
    pub(super) cipher: Option<u16>,
    pub(super) version: Version,
}

impl Session<'_> {
    /// Ciphers that a secret of this length may be for.
    fn ciphers(&self, secret: &[u8]) -> impl Iterator<Item = (Cipher, Hash)> {
        let chosen = self.cipher;
        let suites =
            [0x1301, 0x1302, 0x1303].into_iter().filter(move |&suite| chosen.is_none_or(|chosen| suite == chosen));
        let bytes = secret.len();
        suites.filter_map(Cipher::of_tls13).filter(move |(_, hash)| hash.bytes() == bytes)
    }

    fn secret(&self, log: &SharedKeys, label: Label) -> Option<Vec<u8>> {
        log.secret(self.random, label)
    }
}

/// Keys of application data in one direction.
#[derive(Debug, Clone)]
struct OneRtt {
    version: Version,
    suite: (Cipher, Hash),
    secret: Vec<u8>,
    header: HeaderKey,
    phase: bool,
    current: Opener,
    /// Before the last key update.
    previous: Option<Opener>,
    next: Option<(Opener, Vec<u8>)>,
    updates: u64,
}

impl OneRtt {
    fn new(version: Version, suite: (Cipher, Hash), secret: Vec<u8>) -> Option<Self> {
        let (cipher, hash) = suite;
        Some(Self {
            version,
            suite,
            header: protection::header_key(version, cipher, hash, &secret)?,
            current: protection::opener(version, cipher, hash, &secret)?,
            secret,
            phase: false,
            previous: None,
            next: None,
            updates: 0,
        })
    }

    fn open(
        &mut self,
        packet: &[u8],
        number_offset: usize,
        largest: Option<u64>,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let unmasked = protection::unmask(&self.header.0, packet, number_offset, buffer)?;
        let number = unmasked.number(largest);
        let phase = unmasked.first & KEY_PHASE != 0;
        if phase == self.phase {
            return Some((number, protection::open(&self.current, &unmasked, number, buffer)?));
        }
        if let Some(previous) = &self.previous
            && let Some(range) = protection::open(previous, &unmasked, number, buffer)
        {
            return Some((number, range));
        }
        let (cipher, hash) = self.suite;
        if self.next.is_none() {
            let secret = expand_label(hash, &self.secret, self.version.labels().update, hash.bytes())?;
            self.next = Some((protection::opener(self.version, cipher, hash, &secret)?, secret));
        }
        // A failed attempt has spoiled the copy.
        let unmasked = protection::unmask(&self.header.0, packet, number_offset, buffer)?;
        let range = protection::open(&self.next.as_ref()?.0, &unmasked, number, buffer)?;
        let (opener, secret) = self.next.take()?;
        self.secret = secret;
        self.previous = Some(std::mem::replace(&mut self.current, opener));
        self.phase = phase;
        self.updates += 1;
        Some((number, range))
    }
}

/// Keys of both directions.
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    handshake: [Option<PacketKeys>; 2],
    one_rtt: [Option<Box<OneRtt>>; 2],
    /// Packets of the handshake and of application data that no key fits.
    pub(super) sealed: [u64; 2],
    pub(super) opened: u64,
}

/// A packet that is to be opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sealed<'a> {
    /// 0 of the client, 1 of the server.
    pub(super) from: usize,
    pub(super) packet: &'a [u8],
    pub(super) number_offset: usize,
    pub(super) largest: Option<u64>,
}

impl Levels {
    /// Opens a Handshake packet.
    pub(super) fn open_handshake(
        &mut self,
        log: &SharedKeys,
        session: &Session<'_>,
        sealed: Sealed<'_>,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let given_up = self.sealed[0] > MAX_FAILED;
        let keys = self.handshake.get_mut(sealed.from).filter(|_| !given_up);
        let opened = keys.and_then(|keys| {
            let secret = || session.secret(log, Label::Handshake(sealed.from));
            let of = |(cipher, hash), secret: &[u8]| PacketKeys::of_secret(session.version, cipher, hash, secret);
            open_under(keys, session, secret, of, |keys| {
                keys.open(sealed.packet, sealed.number_offset, sealed.largest, buffer)
            })
        });
        self.count(0, opened.is_some());
        opened
    }

    /// Opens a packet with a short header.
    pub(super) fn open_one_rtt(
        &mut self,
        log: &SharedKeys,
        session: &Session<'_>,
        sealed: Sealed<'_>,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let opened = self.fitting_one_rtt(log, session, sealed, buffer);
        self.count(1, opened.is_some());
        opened
    }

    /// The same, of what may be no packet.
    pub(super) fn fitting_one_rtt(
        &mut self,
        log: &SharedKeys,
        session: &Session<'_>,
        sealed: Sealed<'_>,
        buffer: &mut Vec<u8>,
    ) -> Option<(u64, Range<usize>)> {
        let given_up = self.sealed[1] > MAX_FAILED;
        let keys = self.one_rtt.get_mut(sealed.from).filter(|keys| keys.is_some() || !given_up)?;
        let secret = || session.secret(log, Label::Traffic(sealed.from));
        let of = |suite, secret: &[u8]| OneRtt::new(session.version, suite, secret.to_vec()).map(Box::new);
        open_under(keys, session, secret, of, |keys| {
            keys.open(sealed.packet, sealed.number_offset, sealed.largest, buffer)
        })
    }

    fn count(&mut self, level: usize, opened: bool) {
        self.opened += u64::from(opened);
        if let Some(sealed) = self.sealed.get_mut(level).filter(|_| !opened) {
            *sealed += 1;
        }
    }

    /// Key updates of the side that made most.
    pub(super) fn updates(&self) -> u64 {
        self.one_rtt.iter().flatten().map(|keys| keys.updates).max().unwrap_or(0)
    }
}

/// Opens with the keys that there are; else with those of the secret, for each cipher that it may be for, which stay if they fit.
fn open_under<K>(
    keys: &mut Option<K>,
    session: &Session<'_>,
    secret: impl FnOnce() -> Option<Vec<u8>>,
    of: impl Fn((Cipher, Hash), &[u8]) -> Option<K>,
    mut open: impl FnMut(&mut K) -> Option<(u64, Range<usize>)>,
) -> Option<(u64, Range<usize>)> {
    if let Some(keys) = keys {
        return open(keys);
    }
    let secret = secret()?;
    session.ciphers(&secret).find_map(|suite| {
        let mut fitting = of(suite, &secret)?;
        let opened = open(&mut fitting)?;
        *keys = Some(fitting);
        Some(opened)
    })
}

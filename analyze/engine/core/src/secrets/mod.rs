//! Keys of protected traffic: read, derived, and used to open what they fit. All cryptography is `ring`'s.
//!
//! ```text
//! key_log    lines of a file      -> secrets by the client's random
//! derive     secret, label        -> keys (HKDF-Expand-Label of TLS 1.3)
//! aead       key, nonce, bytes    -> plaintext, or nothing
//! ```

pub(crate) mod aead;
pub(crate) mod derive;
pub(crate) mod key_log;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

pub use crate::secrets::key_log::KeyLog;
use crate::secrets::key_log::Label;

/// Secrets that all stages share.
pub type SharedKeys = Arc<Keys>;

/// Secrets of a file, and those that captures hold themselves, which may come while packets are read. Looked up once for each
/// connection.
#[derive(Debug, Default)]
pub struct Keys {
    any: AtomicBool,
    log: RwLock<KeyLog>,
}

impl Keys {
    /// Adds the lines of a file or of a block of decryption secrets.
    pub fn read(&self, text: &[u8]) {
        if let Ok(mut log) = self.log.write() {
            log.read(text);
            self.any.store(!log.is_empty(), Ordering::Release);
        }
    }

    /// There is a secret.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn secret(&self, random: &[u8], label: Label) -> Option<Vec<u8>> {
        self.log.read().ok()?.secret(random, label).map(<[u8]>::to_vec)
    }
}

//! The names a server's certificate is for: alternative names and common name of the first certificate in a Certificate
//! message (RFC 5246 section 7.4.2, RFC 5280 sections 4.1 and 4.2.1.6), which up to TLS 1.2 crosses in the clear.
//!
//! Rule: docs/methods.md, "Names in a certificate".

use crate::tls::der::{Elements, tag};

/// Names kept of one certificate; the others are counted.
const MAX_NAMES: usize = 8;

/// Names looked at of one certificate.
const MAX_NAMES_READ: usize = 1024;

/// Longest DNS name in text (RFC 1035 section 2.3.4).
const MAX_NAME_BYTES: usize = 253;

/// id-at-commonName (2.5.4.3) and id-ce-subjectAltName (2.5.29.17), as they are encoded.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];

const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// What is kept of a server's certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// The common name first, if it is a host name, then alternative names in their order; each once.
    pub names: Vec<String>,
    /// Names beyond those kept.
    pub more: u32,
}

/// Reads the body of a Certificate message up to TLS 1.2, or as much of it as there is.
#[must_use]
pub fn certificate_names(body: &[u8]) -> CertificateNames {
    let mut found = CertificateNames::default();
    // The length of the list, the length of the first certificate, the certificate.
    let Some([_, _, _, high, middle, low]) = body.first_chunk() else { return found };
    let length = usize::from(*high) << 16 | usize::from(*middle) << 8 | usize::from(*low);
    let rest = body.get(6..).unwrap_or_default();
    let _ = read_certificate(rest.get(..length).unwrap_or(rest), &mut found);
    found
}

fn read_certificate(der: &[u8], found: &mut CertificateNames) -> Option<()> {
    let certificate = Elements(der).expect(tag::SEQUENCE)?;
    let mut fields = Elements(Elements(certificate).expect(tag::SEQUENCE)?);
    if fields.0.first() == Some(&tag::VERSION) {
        fields.next()?;
    }
    // Serial number, signature algorithm, issuer, validity.
    fields.nth(3)?;
    common_names(fields.expect(tag::SEQUENCE)?, found);
    let extensions = fields.find(|element| element.tag == tag::EXTENSIONS)?;
    for extension in Elements(Elements(extensions.content).expect(tag::SEQUENCE)?) {
        alternative_names(extension.content, found);
    }
    Some(())
}

/// A subject is a list of sets of pairs: what kind of name, and the name.
fn common_names(subject: &[u8], found: &mut CertificateNames) {
    for set in Elements(subject).filter(|element| element.tag == tag::SET) {
        for pair in Elements(set.content).filter(|element| element.tag == tag::SEQUENCE) {
            let mut pair = Elements(pair.content);
            if pair.expect(tag::OBJECT_IDENTIFIER) == Some(COMMON_NAME)
                && let Some(value) = pair.next().filter(|value| value.whole)
            {
                add(found, value.content);
            }
        }
    }
}

fn alternative_names(extension: &[u8], found: &mut CertificateNames) -> Option<()> {
    let mut parts = Elements(extension);
    if parts.expect(tag::OBJECT_IDENTIFIER)? != ALTERNATIVE_NAME {
        return None;
    }
    // Whether it is critical may stand between.
    let value = parts.find(|element| element.tag != tag::BOOLEAN).filter(|element| element.tag == tag::OCTET_STRING)?;
    let names = Elements(Elements(value.content).expect(tag::SEQUENCE)?);
    for name in names.take(MAX_NAMES_READ).filter(|name| name.tag == tag::DNS_NAME && name.whole) {
        add(found, name.content);
    }
    Some(())
}

/// Keeps what is a host name or a pattern of one: whatever else a subject calls itself names no server.
fn add(found: &mut CertificateNames, name: &[u8]) {
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.contains(&b'.');
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'*');
    if !fits || !name.iter().all(plain) {
        return;
    }
    let name: String = name.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    if found.names.contains(&name) {
        return;
    }
    if found.names.len() < MAX_NAMES {
        found.names.push(name);
    } else {
        found.more += 1;
    }
}

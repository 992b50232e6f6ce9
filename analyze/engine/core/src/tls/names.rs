//! Numbers of TLS to the words people use for them: versions, cipher suites, alerts.

use tls_parser::TlsCipherSuite;

/// True for TLS 1.3 and its drafts (0x7fxx by the working group, 0xfbxx by one large deployment).
pub(crate) fn is_tls13(version: u16) -> bool {
    version == 0x0304 || matches!(version >> 8, 0x7f | 0xfb)
}

/// "1.3" and the like; "0x7f17" for drafts and what else there may be.
pub(super) fn version(number: u16) -> String {
    match number {
        0x0002 => "SSL 2.0".into(),
        0x0300 => "SSL 3.0".into(),
        0x0301 => "1.0".into(),
        0x0302 => "1.1".into(),
        0x0303 => "1.2".into(),
        0x0304 => "1.3".into(),
        _ => format!("0x{number:04x}"),
    }
}

/// Name in the IANA registry; "0xcc14" for one that is not there.
pub(super) fn cipher(number: u16) -> String {
    TlsCipherSuite::from_id(number).map_or_else(|| format!("0x{number:04x}"), |suite| suite.name.into())
}

/// Name in the IANA registry of alerts.
pub(crate) fn alert(description: u8) -> String {
    let name = match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        21 => "decryption_failed",
        22 => "record_overflow",
        30 => "decompression_failure",
        40 => "handshake_failure",
        41 => "no_certificate",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        60 => "export_restriction",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        111 => "certificate_unobtainable",
        112 => "unrecognized_name",
        113 => "bad_certificate_status_response",
        114 => "bad_certificate_hash_value",
        115 => "unknown_psk_identity",
        116 => "certificate_required",
        120 => "no_application_protocol",
        121 => "ech_required",
        _ => return format!("alert {description}"),
    };
    name.into()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_registries() {
        assert_eq!(version(0x0304), "1.3");
        assert_eq!(version(0x7f17), "0x7f17");
        assert_eq!(cipher(0x1301), "TLS_AES_128_GCM_SHA256");
        assert_eq!(cipher(0xcc14), "0xcc14");
        assert_eq!(alert(40), "handshake_failure");
        assert_eq!(alert(200), "alert 200");
    }
}

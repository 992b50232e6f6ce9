//! What a file is that is not a capture: one line that says what to do with it.

use crate::read::compression;

/// What a tar archive (POSIX.1 ustar, and GNU's) has within its first header.
const TAR_MAGIC: &[u8] = b"ustar";

const TAR_MAGIC_AT: usize = 257;

/// What bytes are that are not a capture, as far as their start tells.
pub(super) fn foreign(head: &[u8]) -> String {
    let start = head.get(..compression::MAGIC_BYTES).unwrap_or(head);
    let name = match head {
        [] => return "the file is empty: a capture has at least a file header".to_owned(),
        [b'P', b'K', 3, 4, ..] => "a zip archive: unpack it first",
        [0x1f, 0x8b, _, ..] => "a capture that is compressed twice: unpack it once",
        _ if head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(TAR_MAGIC)) => {
            "a tar archive: unpack it first"
        }
        [b'G', b'M', b'B', b'U', ..] | [b'R', b'T', b'S', b'S', ..] => {
            "a Network Monitor capture, which is not read: convert it with editcap"
        }
        [b'X', b'C', b'P', 0, ..] => "a NetXRay capture, which is not read: convert it with editcap",
        _ if start.iter().all(u8::is_ascii) && start.iter().any(u8::is_ascii_graphic) => {
            "text, not a capture (pcap, pcapng or snoop)"
        }
        _ => "not a capture: none of the formats pcap, pcapng and snoop starts like this",
    };
    name.to_owned()
}

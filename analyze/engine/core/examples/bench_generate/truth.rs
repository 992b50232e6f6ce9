//! What is in a generated capture, as counted while it was made.

use std::ffi::OsString;
use std::path::Path;

/// Counts over the whole capture.
#[derive(Default)]
pub struct Truth {
    /// TCP connections.
    pub connections: u64,
    /// Packets written.
    pub packets: u64,
    /// Segments with payload, repeats included.
    pub data_segments: u64,
    /// Segments with payload that had been sent before, as they pass the capture point.
    pub retransmitted_segments: u64,
    /// Payload bytes, repeats included.
    pub payload_bytes: u64,
    /// Bytes of the capture file.
    pub file_bytes: u64,
}

impl Truth {
    /// Writes `OUT.truth.json` beside the capture.
    pub fn write(&self, capture: &Path) -> std::io::Result<()> {
        let mut name = OsString::from(capture);
        name.push(".truth.json");
        let text = format!(
            "{{\"connections\": {}, \"packets\": {}, \"data_segments\": {}, \"retransmitted_segments\": {}, \
             \"payload_bytes\": {}, \"file_bytes\": {}}}\n",
            self.connections,
            self.packets,
            self.data_segments,
            self.retransmitted_segments,
            self.payload_bytes,
            std::fs::metadata(capture)?.len().max(self.file_bytes),
        );
        std::fs::write(name, text)
    }
}

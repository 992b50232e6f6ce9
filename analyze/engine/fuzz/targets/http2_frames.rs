//! Two byte streams behind a preface, cut into segments in turns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::http2::Http2Tracker;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a segment.
const SEGMENT_BYTES: usize = 50;

fuzz_target!(|data: &[u8]| {
    let mut tracker = Http2Tracker::new();
    tracker.segment(0, 0, PREFACE, PREFACE.len() as u32, 0);
    let mut offsets = [PREFACE.len() as u64, 0];
    for (number, segment) in data.chunks(SEGMENT_BYTES).enumerate() {
        let side = number % 2;
        // Now and then the snap length has cut it.
        let length = segment.len() as u32 + if number % 7 == 6 { 3 } else { 0 };
        tracker.segment(side, offsets[side], segment, length, number as i64 * 1_000_000);
        offsets[side] += u64::from(length);
    }
    let summary = tracker.summary();
    for (window, bytes) in summary.windows.iter().zip(offsets) {
        assert!(window.data_bytes <= bytes && window.limited_ns >= 0);
    }
    tracker.skip_hole(0, offsets[0] + 1000);
});

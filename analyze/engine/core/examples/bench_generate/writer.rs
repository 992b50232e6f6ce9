//! The two file formats, with microsecond times as tcpdump writes them: pcap, and pcapng with enhanced packet blocks.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::str::FromStr;

use crate::frame::Frame;

const LINKTYPE_ETHERNET: u32 = 1;

/// How the capture is stored.
#[derive(Clone, Copy)]
pub enum Format {
    /// Classic pcap, little-endian, microseconds.
    Pcap,
    /// One section, one interface, enhanced packet blocks, microseconds.
    Pcapng,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "pcap" => Ok(Self::Pcap),
            "pcapng" => Ok(Self::Pcapng),
            _ => Err(format!("unknown format '{name}': pcap or pcapng")),
        }
    }
}

/// A capture file that grows record by record.
pub struct CaptureWriter {
    file: BufWriter<File>,
    format: Format,
    snap_length: usize,
}

impl CaptureWriter {
    /// Creates the file and writes what stands before the records.
    pub fn create(path: &Path, format: Format, snap_length: usize) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let snap = snap_length as u32;
        let words: Vec<u32> = match format {
            Format::Pcap => vec![0xA1B2_C3D4, 2 | 4 << 16, 0, 0, snap, LINKTYPE_ETHERNET],
            Format::Pcapng => vec![
                // Section header block of unknown section length, then an interface description block.
                0x0A0D_0D0A,
                28,
                0x1A2B_3C4D,
                1,
                u32::MAX,
                u32::MAX,
                28, //
                1,
                20,
                LINKTYPE_ETHERNET,
                snap,
                20,
            ],
        };
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Self { file, format, snap_length })
    }

    /// Appends a frame seen at `time_ns` (Unix nanoseconds), cut at the snap length.
    pub fn record(&mut self, time_ns: u64, frame: &Frame) -> io::Result<()> {
        let captured = frame.wire_length().min(self.snap_length);
        match self.format {
            Format::Pcap => self.pcap_record(time_ns, frame, captured),
            Format::Pcapng => self.pcapng_record(time_ns, frame, captured),
        }
    }

    /// Writes what is still buffered.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn pcap_record(&mut self, time_ns: u64, frame: &Frame, captured: usize) -> io::Result<()> {
        let seconds = time_ns / 1_000_000_000;
        let microseconds = time_ns % 1_000_000_000 / 1000;
        self.words(&[seconds as u32, microseconds as u32, captured as u32, frame.wire_length() as u32])?;
        frame.write(captured, &mut self.file)
    }

    fn pcapng_record(&mut self, time_ns: u64, frame: &Frame, captured: usize) -> io::Result<()> {
        let microseconds = time_ns / 1000;
        let padding = captured.next_multiple_of(4) - captured;
        let length = (32 + captured + padding) as u32;
        let (high, low) = ((microseconds >> 32) as u32, microseconds as u32);
        self.words(&[6, length, 0, high, low, captured as u32, frame.wire_length() as u32])?;
        frame.write(captured, &mut self.file)?;
        self.file.write_all(&[0; 3][..padding])?;
        self.words(&[length])
    }

    fn words(&mut self, words: &[u32]) -> io::Result<()> {
        words.iter().try_for_each(|word| self.file.write_all(&word.to_le_bytes()))
    }
}

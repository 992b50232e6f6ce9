//! Compressed captures: read as if they were not, kept up to a break, bounded in memory.
//!
//! Subjects: `read/unpack.rs`, `read/gzip.rs`, `read/bzip2.rs`, `read/lz4.rs`, `read/xz.rs`, `read/zstd.rs`, `read/read_error.rs`.

use std::io::Write;

use crate::captures::*;
use proptest::prelude::*;
use vmtrace_core::read::ReadError;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new()
        .filename("some name")
        .comment("and a comment")
        .extra(vec![1, 2, 3])
        .write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Pack = fn(&[u8]) -> Vec<u8>;
const PACKERS: [(&str, Pack); 5] = [("gzip", gzip), ("zstd", zstd), ("xz", xz), ("lz4", lz4), ("bzip2", bzip2)];

#[test]
fn every_compression_gives_what_the_plain_file_gives() {
    let sent = frames(2000);
    for file in [plain_pcap(&sent), pcapng(Order::Big, &sent)] {
        for (name, pack) in PACKERS {
            let packed = pack(&file);
            let outcome = read(&packed);
            assert_eq!(outcome.frames, sent, "{name}");
            assert_eq!(outcome.facts().compression, Some(name));
            assert_eq!(outcome.complaints(), [""; 0], "{name}");
            assert_eq!(read_slowly(&packed, 1000).inputs, outcome.inputs, "{name}");
        }
    }
}

#[test]
fn members_streams_and_frames_follow_each_other() {
    let sent = frames(300);
    let file = plain_pcap(&sent);
    for (name, pack) in PACKERS {
        let parts: Vec<u8> = file.chunks(10_000).flat_map(pack).collect();
        let outcome = read(&parts);
        assert_eq!(outcome.frames, sent, "{name}");
        assert_eq!(outcome.complaints(), [""; 0], "{name}");
    }
}

#[test]
fn skippable_zstd_frames_are_skipped() {
    let sent = frames(10);
    let skippable = [&0x184d_2a53_u32.to_le_bytes()[..], &5_u32.to_le_bytes(), b"notes"].concat();
    let file = [skippable.clone(), zstd(&plain_pcap(&sent)), skippable].concat();
    let outcome = read(&file);
    assert_eq!(outcome.frames, sent);
    assert_eq!(outcome.complaints(), [""; 0]);
}

#[test]
fn a_cut_stream_keeps_what_was_before_the_cut() {
    // Hard to compress, so that the stream is long.
    let mut noise = 1_u32;
    let mut sent = frames(3000);
    for byte in sent.iter_mut().flat_map(|one| &mut one.bytes) {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (noise >> 24) as u8;
    }
    let file = plain_pcap(&sent);
    for (name, pack) in PACKERS {
        let packed = pack(&file);
        let outcome = read(&packed[..packed.len() * 3 / 4]);
        assert!(sent.starts_with(&outcome.frames), "{name}");
        assert!(outcome.frames.len() > 2000, "{name}: only {} records", outcome.frames.len());
        let last = *outcome.complaints().last().unwrap();
        assert!(last.contains(name) && last.contains("broken"), "{last}");
        assert!(name != "lz4" || last.contains("it ends too early"), "{last}");
        assert!(outcome.error.is_none());
    }
}

#[test]
fn skippable_lz4_frames_are_skipped() {
    let sent = frames(20);
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
    let file = plain_pcap(&sent);
    let packed = [lz4(&file[..500]), skippable.clone(), lz4(&file[500..]), skippable].concat();
    let outcome = read(&packed);
    assert_eq!((outcome.frames.len(), outcome.complaints()), (20, vec![""; 0]));
    assert_eq!(read_slowly(&packed, 7).inputs, outcome.inputs);
    let cut = read(&packed[..packed.len() - 1]);
    assert_eq!(cut.complaints(), ["the lz4 stream is broken: it ends too early"]);
}

#[test]
fn what_follows_and_is_something_else_is_told_in_words() {
    for (name, pack) in [("zstd", zstd as Pack), ("lz4", lz4), ("bzip2", bzip2)] {
        let outcome = read(&[pack(&plain_pcap(&frames(3))), b"something else".to_vec()].concat());
        assert_eq!(outcome.frames.len(), 3);
        let [complaint] = outcome.complaints()[..] else { panic!("{:?}", outcome.complaints()) };
        assert!(complaint.ends_with(&format!("comes something that is not {name}")), "{complaint}");
    }
}

#[test]
fn a_checksum_that_does_not_match_is_told() {
    let sent = frames(50);
    let mut packed = gzip(&plain_pcap(&sent));
    let crc = packed.len() - 8;
    packed[crc] ^= 1;
    let outcome = read(&packed);
    assert_eq!(outcome.frames, sent);
    assert_eq!(outcome.complaints(), ["the gzip stream is broken: its checksum does not match what it holds"]);
}

#[test]
fn a_break_of_bzip2_leaves_what_came_before_it_whatever_the_size_of_reads() {
    let sent = frames(300);
    let mut packed = bzip2(&plain_pcap(&sent));
    // The last bytes are the checksum of all blocks: those are whole.
    let sum = packed.len() - 2;
    packed[sum] ^= 0x40;
    for outcome in [read(&packed), read_slowly(&packed, 7)] {
        assert_eq!(outcome.frames, sent);
        assert!(outcome.complaints()[0].starts_with("the bzip2 stream is broken"), "{:?}", outcome.complaints());
    }
    // Within a block both see the same.
    for at in (packed.len() / 4..packed.len() - 20).step_by(97) {
        let mut damaged = bzip2(&plain_pcap(&sent));
        damaged[at] ^= 8;
        assert_eq!(read(&damaged).frames, read_slowly(&damaged, 7).frames, "{at}");
    }
}

#[test]
fn a_stream_broken_before_the_first_record_is_an_error() {
    for (name, pack) in PACKERS {
        let packed = pack(&plain_pcap(&frames(100)));
        for length in [8, 10] {
            match read(&packed[..length]).error {
                Some(ReadError::Decompression { input: 0, what }) => {
                    assert!(what.contains(name), "{what}")
                }
                other => panic!("{name} cut to {length}: {other:?}"),
            }
        }
    }
}

#[test]
fn windows_beyond_the_bound_are_refused_by_name() {
    // Frame header: no checksum, window descriptor of exponent 10 + 18 (RFC 8878 section 3.1.1.1.2): 256 MiB.
    let wide_zstd = [0x28, 0xb5, 0x2f, 0xfd, 0, 18 << 3, 1, 0, 0, 0];
    let error = read(&wide_zstd).error.unwrap().to_string();
    assert!(error.contains("268435456 bytes, more than 128 MiB"), "{error}");
    let mut options = lzma_rust2::XzOptions::with_preset(1);
    options.lzma_options.dict_size = 512 << 20;
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(&plain_pcap(&frames(3))).unwrap();
    let error = read(&writer.finish().unwrap()).error.unwrap().to_string();
    assert!(error.contains("dictionary of more than 128 MiB"), "{error}");
}

#[test]
fn something_compressed_that_is_no_capture_is_refused() {
    for (name, pack) in PACKERS {
        let error = read(&pack(b"just some words")).error.unwrap();
        assert!(matches!(error, ReadError::NotACapture { .. }), "{name}: {error:?}");
    }
    let error = read(&gzip(&gzip(&plain_pcap(&frames(2))))).error.unwrap().to_string();
    assert!(error.contains("compressed twice"), "{error}");
}

/// A reader that fails after some bytes.
struct Failing(std::io::Cursor<Vec<u8>>);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(std::io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn an_io_error_comes_after_the_records_before_it() {
    let sent = frames(1000);
    let plain = plain_pcap(&sent);
    let cut_gzip = gzip(&plain);
    let cut_gzip = cut_gzip[..cut_gzip.len() - 100].to_vec();
    for file in [plain[..plain.len() - 10].to_vec(), cut_gzip] {
        let failing = Failing(std::io::Cursor::new(file));
        let outcome = drain(&mut vmtrace_core::read::FileSource::new(Box::new(failing), 7));
        assert!(outcome.frames.len() > 900 && sent.starts_with(&outcome.frames), "{}", outcome.frames.len());
        match outcome.error {
            Some(ReadError::Io { input: 7, source }) => {
                assert_eq!(source.to_string(), "the disk is gone")
            }
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn flipped_bytes_in_a_stream_never_panic(flips in prop::collection::vec((0.0..1.0_f64, 1..=255_u8), 1..4)) {
        let file = plain_pcap(&frames(200));
        for (_, pack) in PACKERS {
            let mut packed = pack(&file);
            for (place, bits) in &flips {
                let at = (packed.len() as f64 * place) as usize;
                packed[at] ^= bits;
            }
            let outcome = read(&packed);
            prop_assert_eq!(outcome.inputs[0].packets as usize, outcome.records.len());
        }
    }

    #[test]
    fn any_bytes_behind_a_magic_number_end(tail in prop::collection::vec(any::<u8>(), 0..600)) {
        let magics: [&[u8]; 6] = [
            &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
            &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x58],
            &[0x50, 0x2a, 0x4d, 0x18],
            &[0xfd, b'7', b'z', b'X', b'Z', 0, 0, 1, 0x69, 0x22, 0xde, 0x36],
            &[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82],
            &[0x02, 0x21, 0x4c, 0x18],
        ];
        for magic in magics {
            let outcome = read(&[magic, &tail].concat());
            prop_assert_eq!(outcome.records.len(), 0);
        }
    }
}

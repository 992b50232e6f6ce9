//! TCP options: each kind, and how an area ends.

use vmtrace_core::decode::options::{Options, OptionsEnd, TcpOption, TcpOptions};

fn read(area: &[u8]) -> (Vec<TcpOption<'_>>, OptionsEnd) {
    let mut options = TcpOptions::new(area, area.len());
    let all = options.by_ref().collect();
    (all, options.end())
}

#[test]
fn options_of_a_handshake_are_read() {
    let area = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7];
    let options = Options::collect(TcpOptions::new(&area, area.len()));
    let expected = Options {
        maximum_segment_size: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((9, 0)),
        ..Options::default()
    };
    assert_eq!(options, expected);
}

#[test]
fn window_shift_is_at_most_14() {
    assert_eq!(read(&[3, 3, 200, 0]).0, [TcpOption::WindowScale(200)]);
    assert_eq!(Options::collect(TcpOptions::new(&[3, 3, 200, 0], 4)).window_scale, Some(14));
}

#[test]
fn four_sack_blocks_are_read() {
    let blocks: Vec<u8> = (1..=8_u32).flat_map(u32::to_be_bytes).collect();
    let area = [&[1, 1, 5, 34], &blocks[..]].concat();
    let options = Options::collect(TcpOptions::new(&area, area.len()));
    assert_eq!(options.sack.as_slice(), [(1, 2), (3, 4), (5, 6), (7, 8)]);
    assert_eq!(options.end, OptionsEnd::Complete);
}

#[test]
fn of_a_cut_sack_option_the_whole_blocks_are_kept() {
    let blocks: Vec<u8> = (1..=6_u32).flat_map(u32::to_be_bytes).collect();
    let area = [&[1, 1, 5, 26], &blocks[..]].concat();
    let options = Options::collect(TcpOptions::new(&area[..4 + 17], area.len()));
    assert_eq!((options.sack.as_slice(), options.end), (&[(1, 2), (3, 4)][..], OptionsEnd::Cut));
    let options = Options::collect(TcpOptions::new(&area[..4 + 7], area.len()));
    assert_eq!((options.sack.as_slice(), options.end), (&[][..], OptionsEnd::Cut));
}

#[test]
fn fast_open_is_known_by_both_kinds() {
    assert_eq!(read(&[34, 2, 1, 1]).0, [TcpOption::FastOpen(&[])]);
    assert_eq!(read(&[34, 6, 1, 2, 3, 4, 0, 0]).0, [TcpOption::FastOpen(&[1, 2, 3, 4])]);
    assert_eq!(read(&[254, 8, 0xf9, 0x89, 1, 2, 3, 4]).0, [TcpOption::FastOpen(&[1, 2, 3, 4])]);
    assert_eq!(read(&[254, 4, 0xf9, 0x88]).0, [TcpOption::Unknown(254, &[0xf9, 0x88])]);
}

#[test]
fn multipath_and_unknown_kinds_are_noted() {
    let area = [30, 4, 0x00, 0x81, 19, 2, 1, 1];
    let options = Options::collect(TcpOptions::new(&area, area.len()));
    assert!(options.multipath);
    assert_eq!(options.unknown, 1);
    assert_eq!(read(&area).0, [TcpOption::Multipath(&[0, 0x81]), TcpOption::Unknown(19, &[])]);
}

#[test]
fn known_kinds_of_a_wrong_length_are_unknown() {
    assert_eq!(read(&[2, 3, 5, 0]).0, [TcpOption::Unknown(2, &[5])]);
    assert_eq!(read(&[5, 6, 1, 2, 3, 4, 0, 0]).0, [TcpOption::Unknown(5, &[1, 2, 3, 4])]);
}

#[test]
fn the_end_of_an_area_is_told() {
    assert_eq!(read(&[]), (vec![], OptionsEnd::Complete));
    assert_eq!(read(&[1, 1, 1, 1]), (vec![], OptionsEnd::Complete));
    assert_eq!(read(&[0, 5, 5, 5]), (vec![], OptionsEnd::Complete));
    assert_eq!(read(&[1, 1, 1, 2]), (vec![], OptionsEnd::Malformed));
    assert_eq!(read(&[2, 0, 1, 1]), (vec![], OptionsEnd::Malformed));
    assert_eq!(read(&[2, 1, 1, 1]), (vec![], OptionsEnd::Malformed));
    assert_eq!(read(&[2, 9, 1, 1]), (vec![], OptionsEnd::Malformed));
    assert_eq!(read(&[4, 2, 2, 9]), (vec![TcpOption::SackPermitted], OptionsEnd::Malformed));
    let end = |captured: &[u8]| {
        let mut options = TcpOptions::new(captured, 12);
        let _ = options.by_ref().count();
        options.end()
    };
    assert_eq!(end(&[]), OptionsEnd::Cut);
    assert_eq!(end(&[1, 1]), OptionsEnd::Cut);
    assert_eq!(end(&[1, 1, 8]), OptionsEnd::Cut);
    assert_eq!(end(&[1, 1, 8, 10, 0]), OptionsEnd::Cut);
    // Too long even with the bytes that were not captured.
    assert_eq!(end(&[1, 1, 8, 11, 0]), OptionsEnd::Malformed);
    // The list was over before the cut.
    assert_eq!(end(&[0]), OptionsEnd::Complete);
}

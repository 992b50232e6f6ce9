//! Segments that become larger while a connection lasts, as those of a sender do that probes what the path takes (RFC 4821): the
//! numbers of its packets tell (docs/methods.md, section 2).

use crate::playbook::*;

/// The client has shown by four frames without PSH that its segments are of 1300 bytes, of the 1448 that the server takes. Then it sends
/// these frames, all with PSH, one each millisecond, and each is acknowledged at once. `numbers` of a frame: how many it takes.
fn grown(talk: Talk, frames: &[u32], numbers: impl Fn(u32) -> u16) -> Talk {
    let sized = talk
        .open_with_sizes(10.0, 0.1, [1448, 1448])
        .each(0..4, |talk, n| talk.client(20.0 + n as f64, data(n * 1300, 1300).without_push().id(300 + n as u16)));
    let sized = sized.server(30.0, ack(5200));
    let (mut start, mut id) = (5200, 304);
    frames.iter().enumerate().fold(sized, |talk, (number, &length)| {
        let at_ms = 40.0 + number as f64;
        let talk = talk.client(at_ms, data(start, length).id(id));
        start += i64::from(length);
        id += numbers(length);
        talk.server(at_ms + 0.5, ack(start))
    })
}

fn in_segments_of(size: u32) -> impl Fn(u32) -> u16 {
    move |length| length.div_ceil(size) as u16
}

/// Segment size, segments, and frames of more than one.
fn segments(talk: &Talk) -> (u16, u64, u32) {
    let sent = talk.summary().directions[CLIENT].clone();
    (sent.segment_size, sent.data_segments, sent.extras.superpackets)
}

#[test]
fn frames_take_no_more_numbers_than_they_have_segments() {
    let frames = [&[1350; 3][..], &[2700; 200], &[5400, 4050, 2700, 700]].concat();
    let expected = (1350, 4 + 3 + 400 + 4 + 3 + 2 + 1, 203);
    assert_eq!(segments(&grown(Talk::new(), &frames, in_segments_of(1350))), expected);
}

#[test]
fn a_probe_alone_is_one_segment_and_tells_no_size() {
    let frames = [&[1350][..], &[2600; 20], &[700]].concat();
    let numbers = |length| if length == 1350 { 1 } else { in_segments_of(1300)(length) };
    assert_eq!(segments(&grown(Talk::new(), &frames, numbers)), (1300, 4 + 1 + 40 + 1, 20));
}

#[test]
fn what_ends_with_less_than_a_full_segment_is_counted_by_its_numbers_and_tells_no_size() {
    // Of 1350, and less at the end, in two numbers where three segments of 1300 would have been.
    let frames = [&[2611; 6][..], &[700]].concat();
    assert_eq!(segments(&grown(Talk::new(), &frames, in_segments_of(1350))), (1300, 4 + 12 + 1, 6));
}

#[test]
fn a_stack_that_numbers_frames_says_nothing_of_their_segments() {
    let frames = [&[5200; 10][..], &[1350; 10], &[700]].concat();
    assert_eq!(segments(&grown(Talk::new(), &frames, |_| 1)), (1300, 4 + 40 + 20 + 1, 20));
}

#[test]
fn frames_all_alike_that_are_followed_round_after_round_are_known_by_the_next_round() {
    let alike = |numbers: fn(u32) -> u16| segments(&grown(Talk::new(), &[2700; 400], numbers));
    assert_eq!(alike(|_| 2), (1350, 4 + 800, 400));
    assert_eq!(alike(|_| 3), (1300, 4 + 1200, 400), "as many numbers as segments of that size");
}

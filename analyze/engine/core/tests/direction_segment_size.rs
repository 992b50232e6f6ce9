//! How large a full segment is: what both sides offer bounds it, what is sent shows it.
//!
//! Subjects: `tcp/capture/frame_sizes.rs`,
//! `tcp/direction/sizes.rs`.

use crate::playbook::*;
use vmtrace_core::tcp::summary::summary::DirectionSummary;

/// Positions and lengths of `lengths` in a row.
fn in_a_row(lengths: &[u32]) -> Vec<(i64, u32)> {
    let starts = lengths.iter().scan(0, |end, &length| {
        let start = *end;
        *end += i64::from(length);
        Some((start, length))
    });
    starts.collect()
}

/// The client sends these frames, one each millisecond, the last one with PSH, and numbers its packets by segments of
/// `size`. Client and server take segments of `offers`.
fn upload(offers: [u16; 2], size: u32, lengths: &[u32]) -> Talk {
    upload_of(Talk::new(), offers, size, lengths)
}

fn upload_of(talk: Talk, offers: [u16; 2], size: u32, lengths: &[u32]) -> Talk {
    let last = lengths.len() - 1;
    let frames = in_a_row(lengths).into_iter().enumerate();
    talk.open_with_sizes(10.0, 0.1, offers).each(frames, |talk, (number, (start, length))| {
        let id: u32 = 300 + lengths[..number].iter().map(|length| length.div_ceil(size)).sum::<u32>();
        let frame = data(start, length).id(id as u16);
        let frame = if number < last { frame.without_push() } else { frame };
        talk.client(20.0 + number as f64, frame)
    })
}

fn sent(talk: &Talk) -> DirectionSummary {
    talk.summary().directions[CLIENT].clone()
}

/// Segment size, segments, and frames of more than one.
fn segments(talk: &Talk) -> (u16, u64, u32) {
    let sent = sent(talk);
    (sent.segment_size, sent.data_segments, sent.extras.superpackets)
}

#[test]
fn a_path_that_takes_less_shows_in_segments_that_more_follows() {
    let talk = upload([1400, 1400], 1300, &[&[1300; 20][..], &[700]].concat());
    assert_eq!(segments(&talk), (1300, 21, 0));
}

#[test]
fn frames_of_many_smaller_segments_are_counted_by_those() {
    // Jumbo frames are offered, and a path of 1500 bytes is found.
    let talk = upload([8960, 8960], 1460, &[2920, 2920, 4380, 5840, 14_600, 29_200, 29_200, 700]);
    assert_eq!(segments(&talk), (1460, 2 + 2 + 3 + 4 + 10 + 20 + 20 + 1, 7));
}

#[test]
fn frames_of_equal_length_are_divided_into_pieces_that_both_sides_take() {
    let talk = upload([1460, 1460], 1348, &[&[13_480; 8][..], &[700]].concat());
    assert_eq!(segments(&talk), (1348, 8 * 10 + 1, 8));
}

#[test]
fn segments_sent_again_are_counted_by_the_size_that_is_sent() {
    let talk = upload([8960, 8960], 1460, &[&[2920; 10][..], &[700]].concat())
        .server(40.0, ack(2920).sack(8760, 29_900))
        .server(40.1, ack(2920).sack(8760, 29_900))
        .server(40.2, ack(2920).sack(8760, 29_900))
        .client(40.3, data(2920, 5840));
    assert_eq!(sent(&talk).loss.retransmitted, 4);
}

#[test]
fn what_was_sent_before_the_size_was_known_is_counted_anew() {
    // The first frame was too long for the path and is repeated in pieces, before anything without PSH is sent.
    let talk = Talk::new()
        .open_with_sizes(10.0, 0.1, [8960, 8960])
        .client(20.0, data(0, 16_384).id(200))
        .client(20.1, data(0, 7300).id(202))
        .client(20.2, data(7300, 7300).id(207))
        .server(30.1, ack(14_600))
        .client(30.2, data(14_600, 1784).id(212));
    let rest = in_a_row(&[2920, 2920, 2920, 2920, 1784]).into_iter().enumerate();
    let talk = rest.fold(talk, |talk, (number, (start, length))| {
        talk.client(31.0 + number as f64, data(16_384 + start, length).without_push().id(214 + 2 * number as u16))
    });
    let sent = sent(&talk);
    assert_eq!((sent.segment_size, sent.loss.retransmitted), (1460, 5 + 5 + 2));
    assert_eq!(sent.loss.by_trigger.iter().sum::<u32>(), 12);
    assert_eq!(sent.data_segments, 12 + 12 + 4 * 2 + 2);
}

#[test]
fn numbers_that_frames_of_many_segments_take_are_not_lost_before_the_size_is_known() {
    // At the receiver, which joins segments: most frames end what the application wrote.
    let frames = in_a_row(&[&[14_600; 4][..], &[2920; 400]].concat());
    let open = Talk::new().open_with_sizes(0.1, 20.0, [8960, 8960]);
    let mut id = 300u16;
    let talk = frames.into_iter().enumerate().fold(open, |talk, (number, (start, length))| {
        let frame = data(start, length).id(id);
        id += (length / 1460) as u16;
        let at_ms = 30.0 + number as f64;
        let frame = if number < 4 { frame } else { frame.without_push() };
        talk.client(at_ms, frame).server(at_ms + 0.1, ack(start + i64::from(length)))
    });
    let sent = sent(&talk);
    assert_eq!((sent.segment_size, sent.data_segments), (1460, 4 * 10 + 400 * 2));
    assert_eq!(sent.lost_by_identification, Some(0).into());
}

#[test]
fn frames_that_are_all_alike_are_divided_as_their_identifications_count() {
    let lengths = [&[2920; 10][..], &[700]].concat();
    assert_eq!(segments(&upload([8960, 8960], 1460, &lengths)), (1460, 21, 10));
    let without_numbers = upload_of(Talk::new().over_ipv6(), [8960, 8960], 1460, &lengths);
    assert_eq!(segments(&without_numbers), (2920, 11, 0));
}

#[test]
fn what_a_size_has_in_common_with_later_frames_is_the_size() {
    let lengths = [&[2920; 4][..], &[4380; 4], &[2920; 4], &[700]].concat();
    assert_eq!(sent(&upload_of(Talk::new().over_ipv6(), [8960, 8960], 1460, &lengths)).segment_size, 1460);
}

#[test]
fn who_takes_less_than_the_peer_may_still_send_what_the_peer_takes() {
    // The client's SYN says 1400, the server's 1460: one frame of 1460 is one segment, from the first on.
    let talk = upload([1400, 1460], 1460, &[1460, 1460, 800]);
    assert_eq!(segments(&talk), (1460, 3, 0));
}

#[test]
fn nobody_sends_more_than_the_peer_takes() {
    let talk = upload([1460, 1400], 1400, &[&[2800; 6][..], &[800]].concat());
    assert_eq!(segments(&talk), (1400, 13, 6));
}

#[test]
fn what_an_application_wrote_whole_says_nothing_of_the_size() {
    let open = Talk::new().open_with_sizes(10.0, 0.1, [1400, 1400]);
    let talk = open.each(0..20i64, |talk, n| talk.client(20.0 + n as f64, data(1000 * n, 1000)));
    assert_eq!(sent(&talk).segment_size, 1400);
}

#[test]
fn ends_of_answers_to_several_requests_are_no_row() {
    let open = Talk::new().open_with_sizes(10.0, 0.1, [1400, 1400]);
    let talk = open.each(0..10i64, |talk, n| {
        let at_ms = 20.0 + 30.0 * n as f64;
        talk.server(at_ms, data(100 * n, 100)).client(at_ms + 1.0, data(1000 * n, 1000).without_push())
    });
    assert_eq!(sent(&talk).segment_size, 1400);
}

#[test]
fn what_a_window_leaves_room_for_between_full_segments_is_no_size() {
    let lengths = [1400, 1400, 600].repeat(10);
    assert_eq!(segments(&upload([1400, 1400], 1400, &lengths)), (1400, 30, 0));
}

#[test]
fn pieces_of_many_lengths_have_no_size() {
    let talk = upload([1400, 1400], 1400, &[900, 1000, 1100, 1200, 900, 1010, 1170, 800]);
    assert_eq!(sent(&talk).segment_size, 1400);
}

#[test]
fn a_path_that_takes_more_again_is_noticed() {
    let talk = upload([1400, 1400], 1400, &[&[1300; 10][..], &[1400; 10], &[700]].concat());
    assert_eq!(segments(&talk), (1400, 21, 0));
}

#[test]
fn what_one_connection_sent_says_nothing_of_the_next_with_the_same_ports() {
    let first = upload([1400, 1400], 1300, &[&[1300; 10][..], &[700]].concat()).client(40.0, rst());
    let second = first.with_isn(9_000_000, 5_000_000).open_with_sizes(0.1, 0.1, [1400, 1400]);
    let analysis = second.client(50.0, data(0, 500)).analysis();
    let sizes: Vec<_> = analysis.connections.iter().map(|one| one.directions[CLIENT].segment_size).collect();
    assert_eq!(sizes, [1300, 1400]);
}

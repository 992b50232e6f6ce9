//! The part of a connection's requests that dominates, in one sentence.

use crate::tcp::requests::summary::{RequestPart, RequestSummary};
use crate::tcp::verdict::words::{bytes, push_decimal, push_fine_seconds};

/// The sentence; none where no part took more than half of the time.
pub fn sentence(requests: &RequestSummary) -> Option<String> {
    let (part, time_ns) = requests.largest()?;
    let totals = requests.longest.totals();
    let mut text = String::with_capacity(USUAL_BYTES);
    text.push_str(match part {
        RequestPart::Handshake => "The TCP handshake was ",
        RequestPart::Tls => "The TLS handshake was ",
        RequestPart::Request => "Sending requests was ",
        RequestPart::FirstByte => "The time from request to first byte was ",
        RequestPart::Retransmission => "Retransmitting requests was ",
        RequestPart::Response => "The transfer of responses was ",
        RequestPart::Between => "The time between responses and the next requests was ",
    });
    push_fine_seconds(&mut text, time_ns);
    text.push_str(if part == RequestPart::Between { ", beside the " } else { " of the " });
    push_fine_seconds(&mut text, requests.exchanges_ns());
    text.push_str(" that ");
    push_number(&mut text, totals.count);
    text.push_str(" took");
    match part {
        RequestPart::Handshake => text.push_str(": a connection that is already open saves it"),
        RequestPart::Tls => text.push_str(": a connection that is already open, or resumption, saves it"),
        RequestPart::Request => push_amount(&mut text, totals.request_bytes),
        RequestPart::FirstByte => push_whose(&mut text, requests, time_ns),
        RequestPart::Retransmission => text.push_str(": the path had lost them"),
        RequestPart::Response => push_amount(&mut text, totals.response_bytes),
        RequestPart::Between => text.push_str(": the client's"),
    }
    text.push('.');
    Some(text)
}

/// Room for most sentences.
const USUAL_BYTES: usize = 224;

fn push_number(text: &mut String, requests: u64) {
    if requests == 1 {
        text.push_str("one request");
    } else {
        push_decimal(text, requests, 0);
        text.push_str(" requests");
    }
}

fn push_amount(text: &mut String, count: u64) {
    text.push_str(", ");
    text.push_str(&bytes(count as f64));
    text.push_str(" in all");
}

/// Whose time that is.
fn push_whose(text: &mut String, requests: &RequestSummary, time_ns: u64) {
    let Some(path_ns) = requests.path_ns() else { return text.push_str(": the server's time and the path's") };
    text.push_str(": ");
    push_fine_seconds(text, path_ns);
    text.push_str(if path_ns > time_ns / 2 {
        " of it are round trips, which fewer requests or a nearer server would save"
    } else {
        " of it are round trips, the rest is the server's"
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::requests::longest::{Exchange, Longest};

    fn requests(request_ns: u64, first_byte_ns: u64, response_ns: u64, server_loop_ns: Option<u64>) -> RequestSummary {
        let mut longest = Longest::default();
        for number in 0..4 {
            longest.add(Exchange {
                start: (number, 1),
                request_ns,
                request_bytes: 100_000,
                first_byte_ns,
                response_ns,
                response_bytes: 2_000_000,
                frames: [2, 3],
            });
        }
        RequestSummary {
            longest,
            handshake_ns: Some(20_000_000).into(),
            tls_ns: None.into(),
            server_loop_ns: server_loop_ns.into(),
            client_loop_ns: None.into(),
            retransmitting_ns: 0,
        }
    }

    #[test]
    fn the_sentence_names_the_part_and_whose_time_it_is() {
        let first_byte = sentence(&requests(0, 920_000_000, 0, Some(20_000_000))).expect("dominates");
        assert_eq!(
            first_byte,
            "The time from request to first byte was 3.68 s of the 3.70 s that 4 requests took: 80.0 ms of it are round trips, the rest is the server's."
        );
        let far = sentence(&requests(0, 25_000_000, 0, Some(20_000_000))).expect("dominates");
        assert!(far.contains("fewer requests or a nearer server"), "{far}");
        let transfer = sentence(&requests(0, 1_000_000, 90_000_000, None)).expect("dominates");
        assert!(
            transfer.starts_with("The transfer of responses was 360 ms of the 384 ms that 4 requests took, 8.0 MB"),
            "{transfer}"
        );
        assert!(
            sentence(&requests(90_000_000, 1, 1, None)).is_some_and(|text| text.starts_with("Sending requests was"))
        );
        assert_eq!(sentence(&requests(10_000_000, 10_000_000, 10_000_000, None)), None);
        let lost = RequestSummary { retransmitting_ns: 3_200_000_000, ..requests(0, 920_000_000, 0, Some(20_000_000)) };
        assert_eq!(
            sentence(&lost).as_deref(),
            Some("Retransmitting requests was 3.20 s of the 3.70 s that 4 requests took: the path had lost them.")
        );
        let mut late = requests(0, 10_000_000, 0, Some(20_000_000));
        (0..).zip(&mut late.longest.list).for_each(|(turn, one)| one.start.0 = turn * 3_010_000_000);
        assert_eq!(
            sentence(&late).as_deref(),
            Some(
                "The time between responses and the next requests was 9.00 s, beside the 60.0 ms that 4 requests took: the client's."
            )
        );
    }
}

//! The part of a connection's requests that dominates, in one sentence.

use crate::tcp::requests::summary::{Part, RequestSummary};
use crate::tcp::verdict::words::{bytes, fine_seconds};

/// The sentence; none where no part took more than half of the time.
pub fn sentence(requests: &RequestSummary) -> Option<String> {
    let (part, time_ns) = requests.largest()?;
    let totals = &requests.longest.totals;
    let of = format!("{} of {}", fine_seconds(time_ns), fine_seconds(requests.time_ns()));
    let number = if totals.count == 1 { "one request".to_owned() } else { format!("{} requests", totals.count) };
    Some(match part {
        Part::Handshake => {
            format!("Opening the connection took {of} of {number}: a connection that is open already saves it.")
        }
        Part::Tls => format!(
            "The TLS handshake took {of} of {number}: a connection that is open already, or resumption, saves it."
        ),
        Part::Request => format!("Sending took {of} of {number}, {} in all.", bytes(totals.request_bytes as f64)),
        Part::FirstByte => format!("From request to first byte took {of} of {number}{}.", of_path(requests, time_ns)),
        Part::Response => {
            format!("The transfer of responses took {of} of {number}, {} in all.", bytes(totals.response_bytes as f64))
        }
    })
}

/// Whose time that is.
fn of_path(requests: &RequestSummary, time_ns: u64) -> String {
    match requests.path_ns() {
        Some(path_ns) if path_ns > time_ns / 2 => {
            format!(": {} of it are round trips, fewer requests or a nearer server save it", fine_seconds(path_ns))
        }
        Some(path_ns) => format!(": {} of it are round trips, the rest is the server's", fine_seconds(path_ns)),
        None => ": the server's time and the path's".to_owned(),
    }
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
        RequestSummary { longest, handshake_ns: Some(20_000_000), tls_ns: None, server_loop_ns }
    }

    #[test]
    fn the_sentence_names_the_part_and_whose_time_it_is() {
        let first_byte = sentence(&requests(0, 920_000_000, 0, Some(20_000_000))).expect("dominates");
        assert_eq!(
            first_byte,
            "From request to first byte took 3.68 s of 3.70 s of 4 requests: 80.0 ms of it are round trips, the rest is the server's."
        );
        let far = sentence(&requests(0, 25_000_000, 0, Some(20_000_000))).expect("dominates");
        assert!(far.contains("fewer requests or a nearer server"), "{far}");
        let transfer = sentence(&requests(0, 1_000_000, 90_000_000, None)).expect("dominates");
        assert!(
            transfer.starts_with("The transfer of responses took 360 ms of 384 ms of 4 requests, 8.0 MB"),
            "{transfer}"
        );
        assert!(sentence(&requests(90_000_000, 1, 1, None)).is_some_and(|text| text.starts_with("Sending took")));
        assert_eq!(sentence(&requests(10_000_000, 10_000_000, 10_000_000, None)), None);
    }
}

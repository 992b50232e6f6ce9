//! Loopback frames of other systems, as a filter that libpcap compiled on this one expects them.

use vmtrace_core::filter::Loopback;
use vmtrace_core::link_type::{ETHERNET, LOOP, NULL};

fn seen(link_type: u16, frame: &[u8]) -> Vec<u8> {
    Loopback::default().as_captured_here(link_type, frame).to_vec()
}

fn frame(family: [u8; 4]) -> Vec<u8> {
    [&family[..], b"packet"].concat()
}

#[test]
fn ipv4_is_2_in_the_byte_order_of_this_machine_or_of_the_network() {
    for family in [2_u32.to_le_bytes(), 2_u32.to_be_bytes()] {
        assert_eq!(seen(NULL, &frame(family)), frame(2_u32.to_ne_bytes()));
        assert_eq!(seen(LOOP, &frame(family)), frame(2_u32.to_be_bytes()));
    }
}

#[test]
fn ipv6_of_every_system_is_that_of_this_one() {
    let here = seen(LOOP, &frame(24_u32.to_be_bytes()));
    for family in [10_u32, 23, 24, 28, 30] {
        for bytes in [family.to_le_bytes(), family.to_be_bytes()] {
            assert_eq!(seen(LOOP, &frame(bytes)), here);
            let family_here = u32::from_be_bytes(*here.first_chunk().unwrap());
            assert_eq!(seen(NULL, &frame(bytes)), frame(family_here.to_ne_bytes()));
        }
    }
}

#[test]
fn all_else_stays_as_it_is() {
    for other in [frame(7_u32.to_be_bytes()), vec![0, 0, 2], Vec::new()] {
        assert_eq!(seen(NULL, &other), other);
    }
    let ethernet = frame(2_u32.to_be_bytes());
    assert_eq!(seen(ETHERNET, &ethernet), ethernet);
}

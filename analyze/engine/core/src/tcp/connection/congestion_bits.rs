//! Congestion that shows without a loss: routers mark packets, their receiver reports it to the sender, and the sender reduces its
//! window as for a loss (explicit congestion notification; RFC 3168, and with counts of marked packets RFC 9768).
//!
//! What the opening agrees on says how the three bits are to be read. Without it they are not read: ECE alone may be either.
//!
//! Rule: docs/methods.md, "Marks of congestion".

use crate::packet::{Packet, tcp_flags};
use crate::tcp::connection::groups::{Agreed, Terms};
use crate::tcp::connection::handshake::Handshake;
use crate::tcp::direction::direction::Direction;
use crate::tcp::events::ecn::{Ecn, Feedback};
use crate::tcp::stats::sequence::unwrap;

/// A SYN or SYN-ACK passed that counts.
pub(crate) fn agree_on_ecn(agreed: &mut Agreed, handshake: &Handshake, packet: &Packet) {
    if !packet.has(tcp_flags::ACK) {
        agreed.syn_flags = Some(packet.flags);
    } else if !handshake.complete {
        let feedback = Feedback::agreed(agreed.syn_flags, packet.flags);
        agreed.ecn = feedback.map(|feedback| Box::new(Ecn { feedback, sides: Default::default() }));
    }
}

/// Takes a packet without SYN that has one of the [`crate::tcp::events::ecn::BITS`], of `side`, or came in fragments. What completes the
/// opening has another meaning.
#[cold]
#[inline(never)]
pub(crate) fn take_congestion_bits(terms: &mut Terms, directions: &mut [Direction; 2], packet: &Packet, side: usize) {
    directions[side].in_fragments += u32::from(packet.has(tcp_flags::IN_FRAGMENTS));
    let Some(ecn) = terms.agreed.ecn.as_deref_mut().filter(|_| terms.handshake.complete) else { return };
    let data = &directions[1 - side];
    let position = unwrap(data.una, packet.acknowledgement);
    // What was overtaken shows times gone by.
    if packet.has(tcp_flags::ACK) && position >= data.una {
        let echoes = &mut ecn.sides[1 - side];
        match ecn.feedback {
            Feedback::Classic if packet.has(tcp_flags::ECE) => echoes.echo(position),
            Feedback::Accurate if echoes.counted(packet) > 0 => {
                let heard_ns = packet.time_ns.saturating_add(terms.loops.loops_ns[1 - side].unwrap_or(0));
                echoes.tell(position, data.max, packet.time_ns, heard_ns);
            }
            _ => {}
        }
    }
    if ecn.feedback == Feedback::Classic && packet.has(tcp_flags::CWR) && packet.payload_length > 0 {
        ecn.sides[side].reduce(unwrap(directions[side].max, packet.sequence));
    }
}

/// Packets of the receiver so far that reported marks on the data of `side`.
pub(crate) fn congestion_echoes(agreed: &Agreed, side: usize) -> u64 {
    agreed.ecn.as_deref().map_or(0, |ecn| ecn.sides[side].packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::events::ecn::Echoes;
    use tcp_flags::{ACK, AE, CWR, ECE, SYN};

    #[test]
    fn syn_and_syn_ack_agree_on_the_feedback() {
        let agreed = |syn: Option<u16>, syn_ack: u16| Feedback::agreed(syn.map(|bits| SYN | bits), SYN | ACK | syn_ack);
        assert_eq!(agreed(Some(CWR | ECE), ECE), Some(Feedback::Classic));
        assert_eq!(agreed(Some(AE | CWR | ECE), ECE), Some(Feedback::Classic));
        for syn_ack in [CWR, CWR | ECE, AE, AE | CWR] {
            assert_eq!(agreed(Some(AE | CWR | ECE), syn_ack), Some(Feedback::Accurate));
            assert_eq!(agreed(None, syn_ack), Some(Feedback::Accurate), "only that can be answered so");
            assert_eq!(agreed(Some(CWR | ECE), syn_ack), None);
        }
        assert_eq!(agreed(None, ECE), Some(Feedback::Classic));
        // Nothing was asked for, nothing was answered, or the question came back.
        assert_eq!((agreed(Some(0), ECE), agreed(Some(CWR | ECE), 0)), (None, None));
        assert_eq!(agreed(Some(AE | CWR | ECE), AE | CWR | ECE), None);
    }

    #[test]
    fn the_counter_goes_on_from_five_and_round() {
        let told = |echoes: &mut Echoes, counter: u16| {
            let bits = (counter & 3) << 6 | (counter & 4) << 6;
            echoes.counted(&Packet { flags: ACK | bits, ..Packet::default() })
        };
        let mut echoes = Echoes::default();
        let marked: Vec<u8> = [5, 5, 7, 1, 5].into_iter().map(|counter| told(&mut echoes, counter)).collect();
        assert_eq!((marked, echoes.marked), (vec![0, 0, 2, 2, 4], 8));
    }
}

//! What happens on other people's networks and in no textbook: resets that nobody takes, several SYN-ACKs, segments that join what was
//! sent before, of which a D-SACK reports a part, a side that is not captured, and a request that is never answered.

use super::dice::Dice;
use super::talk::{Kitchen, MS, Talk, US};
use vmtrace_core::packet::tcp_flags::{ACK, PSH, RST, SYN};

impl Talk {
    /// One of these.
    pub(super) fn strange(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        match dice.below(5) {
            0 => self.joined_again(side, dice, kitchen),
            1 => self.several_syn_acks(dice, kitchen),
            2 => self.reset_not_taken(side, dice, kitchen),
            3 => self.hide(dice),
            _ => self.unanswered(dice, kitchen),
        }
    }

    /// Short segments, some of which arrive, are retransmitted as one; the D-SACK covers what had arrived.
    fn joined_again(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (arrived, length) = (dice.byte(), 1 + u32::from(dice.byte()));
        let start = self.lanes[side].next;
        for number in 0..4 {
            self.data(side, length, PSH, arrived >> number & 1 == 0, kitchen);
            kitchen.now_ns += 50 * US;
        }
        kitchen.now_ns += i64::from(dice.byte()) * 2 * MS;
        let whole = 4 * length;
        let segment = self.segment(side, start, whole, ACK | PSH);
        let reported = (start + u64::from(length), start + u64::from(length) * (1 + u64::from(arrived / 64)));
        let lane = &mut self.lanes[side];
        lane.receive(start, start + u64::from(whole));
        lane.twice = (reported.0 < reported.1).then_some(reported);
        self.record(side, kitchen, segment);
        kitchen.now_ns += 100 * US;
        self.acknowledge(1 - side, kitchen, true);
    }

    /// SYN-ACKs of several numbers, of which the client takes one or none; repeated behind its reset, too.
    fn several_syn_acks(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (count, shape) = (2 + dice.below(5), dice.byte());
        for number in 0..count {
            let mut segment = self.segment(1, 0, 0, SYN | ACK);
            let off = if number == shape % 8 { 0 } else { dice.word() };
            segment.sequence = self.lanes[1].isn.wrapping_add(off);
            segment.acknowledgement = segment.acknowledgement.wrapping_add(u32::from(shape / 8 % 2));
            self.record(1, kitchen, segment);
            kitchen.now_ns += i64::from(shape) * 100 * US;
        }
        if shape / 16 % 4 == 3 {
            self.reset(0, dice, kitchen);
        }
        self.acknowledge(0, kitchen, true);
    }

    /// A reset with a wrong number, or an injected one, after which everything goes on.
    fn reset_not_taken(&mut self, side: usize, dice: &mut Dice, kitchen: &mut Kitchen) {
        let (off, shape) = (dice.word(), dice.byte());
        let with_ack = if shape.is_multiple_of(2) { ACK } else { 0 };
        let mut segment = self.segment(side, self.lanes[side].next, 0, RST | with_ack);
        segment.sequence = segment.sequence.wrapping_add(match shape / 2 % 4 {
            0 => 0,
            1 => off % 60_000,
            2 => (off % 60_000).wrapping_neg(),
            _ => off,
        });
        segment.ttl = segment.ttl.wrapping_add(shape / 16);
        self.record(side, kitchen, segment);
        kitchen.now_ns += i64::from(shape) * 20 * US;
        let who = if shape / 8 % 2 == 0 { side } else { 1 - side };
        self.run(who, dice, kitchen);
    }

    /// From here on the capture shows one side only, or both again.
    fn hide(&mut self, dice: &mut Dice) {
        self.hidden = [None, Some(0), Some(1)][usize::from(dice.below(3))];
    }

    /// The client asks, the server acknowledges at most, and somebody gives up.
    fn unanswered(&mut self, dice: &mut Dice, kitchen: &mut Kitchen) {
        let shape = dice.byte();
        self.data(0, 30 + u32::from(shape), PSH, shape.is_multiple_of(4), kitchen);
        kitchen.now_ns += self.rtt_ns;
        self.acknowledge(1, kitchen, true);
        kitchen.now_ns += i64::from(shape) * 100 * MS;
        match shape % 3 {
            0 => self.finish(0, dice, kitchen),
            1 => self.reset(usize::from(shape / 4 % 2), dice, kitchen),
            _ => self.send_again(0, dice, kitchen),
        }
    }
}

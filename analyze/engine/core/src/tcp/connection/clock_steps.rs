//! Steps of the capture clock, found while a connection lasts.

use crate::packet::{Packet, option_bits};
use crate::tcp::connection::environment::{ClockStep, Environment};
use crate::tcp::connection::groups::Doubts;
use crate::tcp::direction::direction::{Direction, Live};

/// The steps that both directions show are one if they differ by no more than this and a fifth: the timestamps by which they
/// are measured have ticks of milliseconds.
const STEPS_DIFFER_NS: i64 = 20_000_000;

const STEPS_DIFFER_DIVISOR: i64 = 5;

/// And if they stand no further apart than this and the step itself, by which one of the times was set.
const STEPS_APART_NS: i64 = 1_000_000_000;

/// The packet's timestamp goes to the clock of its side, which may show a step.
#[inline(always)]
pub(super) fn take_stamp(
    direction: &mut Direction,
    doubts: &mut Doubts,
    packet: &Packet,
    side: usize,
    environment: &mut Environment,
) {
    if packet.options & option_bits::TIMESTAMPS != 0
        && let Some(ahead_ns) = Live::of(&mut direction.live).capture.clock.add(packet.time_ns, packet.tsval)
    {
        suspect_step(doubts, packet, side, ahead_ns, environment);
    }
}

/// A step of the capture clock shows in both directions, by the same amount, at the same place; in one direction
/// only it is the sender or a queue.
#[cold]
fn suspect_step(doubts: &mut Doubts, packet: &Packet, side: usize, ahead_ns: i64, environment: &mut Environment) {
    let step = ClockStep { input: packet.input, time_ns: packet.time_ns, ahead_ns };
    if let Some((other_side, other)) = doubts.suspected_step
        && usize::from(other_side) != side
        && (other.ahead_ns - ahead_ns).abs() <= STEPS_DIFFER_NS + ahead_ns.abs() / STEPS_DIFFER_DIVISOR
        && packet.time_ns.saturating_sub(other.time_ns).abs() <= STEPS_APART_NS + ahead_ns.abs()
    {
        environment.clock_steps.push(step);
        doubts.suspected_step = None;
    } else {
        doubts.suspected_step = Some((side as u8, step));
    }
}

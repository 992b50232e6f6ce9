//! Frames to look at: those at the ends of a direction's rounds, with what limited it there. Their number is bounded; of too
//! many every second stays, so that they keep lying evenly along the transfer.

use crate::tcp::events::factor::Factor;

/// Marks kept.
const MOST_MARKS: usize = 512;

/// A frame, and what limited the direction in the round that it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When it passed.
    pub time_ns: i64,
    /// Its number.
    pub frame: u32,
    /// A bit for each factor that took part of the round (and of those that were thinned out since the mark before).
    factors: u32,
}

impl Mark {
    /// The factor took part of the time before it.
    pub fn shows(&self, factor: Factor) -> bool {
        self.factors & (1 << factor as u32) != 0
    }

    /// What a factor did, another is blamed for, too.
    pub fn add(&mut self, factor: Factor) {
        self.factors |= 1 << factor as u32;
    }

    /// It was not this one.
    pub fn remove(&mut self, factor: Factor) {
        self.factors &= !(1 << factor as u32);
    }
}

/// Between two moments it was another factor: none but `from`, if that is known.
pub fn move_to(marks: &mut [Mark], to: Factor, from: Option<Factor>, [start_ns, end_ns]: [i64; 2]) {
    for mark in marks.iter_mut().filter(|mark| (start_ns..=end_ns).contains(&mark.time_ns)) {
        from.into_iter().for_each(|from| mark.remove(from));
        mark.add(to);
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    list: Vec<Mark>,
    /// One of so many is kept, a power of two less one; how many have been left out since the last.
    left_out_of: u32,
    left_out: u32,
    waiting: u32,
}

impl Marks {
    /// Adds the end of a round.
    pub fn push(&mut self, time_ns: i64, frame: u32, factors: impl Iterator<Item = Factor>) {
        self.waiting |= factors.fold(0, |bits, factor| bits | 1 << factor as u32);
        if self.left_out < self.left_out_of {
            self.left_out += 1;
            return;
        }
        self.left_out = 0;
        self.list.push(Mark { time_ns, frame, factors: std::mem::take(&mut self.waiting) });
        if self.list.len() >= MOST_MARKS {
            self.halve();
        }
    }

    /// [`move_to`], of those so far.
    pub fn move_to(&mut self, to: Factor, from: Factor, between_ns: [i64; 2]) {
        move_to(&mut self.list, to, Some(from), between_ns);
    }

    fn halve(&mut self) {
        let pairs = self.list.chunks(2).filter_map(|pair| {
            let last = pair.last()?;
            Some(Mark { factors: pair.iter().fold(0, |bits, mark| bits | mark.factors), ..*last })
        });
        self.list = pairs.collect();
        self.left_out_of = 2 * self.left_out_of + 1;
    }

    /// All, in time order.
    pub fn into_list(self) -> Vec<Mark> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stay_few_and_even_and_lose_no_factor() {
        let mut marks = Marks::default();
        for number in 0..100_000u32 {
            let factor = if number == 777 { Factor::TimeoutWait } else { Factor::SlowStart };
            marks.push(i64::from(number), number, [factor].into_iter());
        }
        let list = marks.into_list();
        assert!((MOST_MARKS / 2 - 1..MOST_MARKS).contains(&list.len()), "{}", list.len());
        assert_eq!(list.iter().filter(|mark| mark.shows(Factor::TimeoutWait)).count(), 1);
        let steps: Vec<u32> = list.windows(2).map(|pair| pair[1].frame - pair[0].frame).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    }
}

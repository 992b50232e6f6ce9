//! What was counted for and against each congestion control, and the name it comes to.

/// A congestion control that shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownControl {
    /// RFC 5681, RFC 6582.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Version 1.
    Bbr,
}

impl ShownControl {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reno, Self::Cubic, Self::Bbr];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }
}

/// The name of one that does not show itself.
pub const UNKNOWN: &str = "unknown";

/// Less sure than this is not told.
const LEAST_CONFIDENCE: f64 = 0.6;

/// Others do alike in what was seen.
const MOST_CONFIDENCE: f64 = 0.95;

/// Of what was seen of a sender that reduces its window, so much must be of one kind.
const LEAST_SHARE: f64 = 0.6;

/// A probe for the round trip weighs as much as so many losses.
const PROBE_WEIGHT: f64 = 2.0;

/// What one of each adds to the evidence for BBR, and of how many at most.
const BY_CYCLE: (f64, u32) = (0.5, 6);
const BY_KEPT: (f64, u32) = (0.25, 4);

/// As many cycles show BBR, without a probe for the round trip.
const FEWEST_CYCLES: u32 = 3;

/// As many losses that reduced nothing leave BBR possible; alone they show no more.
const FEWEST_KEPT: u32 = 3;

/// See the module.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CongestionEvidence {
    /// Losses after which the flight was reduced and grew as Reno's, as CUBIC's, and as neither's.
    pub reno: u32,
    /// See `reno`.
    pub cubic: u32,
    /// See `reno`.
    pub neither: u32,
    /// Losses after which the flight was as large as before.
    pub kept: u32,
    /// Four segments for 200 ms, and then all again.
    pub round_trip_probes: u32,
    /// Rises of the flight eight round trips after the one before; and at other distances.
    pub cycles: u32,
    /// See `cycles`.
    pub other_rises: u32,
}

/// The congestion control of a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Named {
    /// Which, with how sure that is, 0 to 1; none where the evidence names none.
    pub control: Option<(ShownControl, f64)>,
    /// Those for which something was seen, the most likely first.
    pub candidates: [Option<ShownControl>; 3],
}

impl CongestionEvidence {
    /// None if nothing was seen that tells one from another.
    pub fn named(&self) -> Option<Named> {
        let seen = self.reno + self.cubic + self.neither + self.kept + self.round_trip_probes;
        if seen == 0 && self.cycles < FEWEST_CYCLES {
            return None;
        }
        let found = self.bbr().or_else(|| self.by_losses());
        let mut likely = ShownControl::ALL.map(|control| (control, self.weight(control)));
        likely.sort_by(|one, other| other.1.total_cmp(&one.1));
        Some(Named {
            control: found.filter(|(_, confidence)| *confidence >= LEAST_CONFIDENCE),
            candidates: likely.map(|(control, weight)| (weight > 0.0).then_some(control)),
        })
    }

    fn bbr(&self) -> Option<(ShownControl, f64)> {
        let shows = self.round_trip_probes > 0 || self.cycles >= FEWEST_CYCLES;
        let by_probes = PROBE_WEIGHT * f64::from(self.round_trip_probes);
        let of_it = by_probes + f64::from(self.cycles) + f64::from(self.kept);
        let against = 1.5 * f64::from(self.other_rises);
        if !shows || of_it < against || 2.0 * f64::from(self.reno.max(self.cubic)) > of_it {
            return None;
        }
        let evidence = by_probes + part(self.cycles, BY_CYCLE) + part(self.kept, BY_KEPT);
        Some((ShownControl::Bbr, (1.0 - (-evidence).exp2()).min(MOST_CONFIDENCE)))
    }

    fn by_losses(&self) -> Option<(ShownControl, f64)> {
        let [(control, most), (_, least)] = if self.reno >= self.cubic {
            [(ShownControl::Reno, self.reno), (ShownControl::Cubic, self.cubic)]
        } else {
            [(ShownControl::Cubic, self.cubic), (ShownControl::Reno, self.reno)]
        };
        let most = f64::from(most);
        let against = f64::from(least + self.neither + self.kept) + PROBE_WEIGHT * f64::from(self.round_trip_probes);
        let share = most / (most + against).max(1.0);
        (share >= LEAST_SHARE).then(|| (control, (share * (1.0 - (-most).exp2())).min(MOST_CONFIDENCE)))
    }

    /// How much speaks for it.
    fn weight(&self, control: ShownControl) -> f64 {
        match control {
            ShownControl::Reno => f64::from(self.reno),
            ShownControl::Cubic => f64::from(self.cubic),
            ShownControl::Bbr => {
                let [cycles, kept] = [(self.cycles, FEWEST_CYCLES), (self.kept, FEWEST_KEPT)]
                    .map(|(count, fewest)| if count >= fewest { count } else { 0 });
                PROBE_WEIGHT * f64::from(self.round_trip_probes) + part(cycles, BY_CYCLE) + part(kept, BY_KEPT)
            }
        }
    }
}

fn part(count: u32, (each, most): (f64, u32)) -> f64 {
    each * f64::from(count.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(evidence: CongestionEvidence) -> Option<ShownControl> {
        evidence.named().and_then(|named| named.control).map(|(control, _)| control)
    }

    #[test]
    fn without_a_loss_or_a_probe_there_is_nothing_to_name() {
        assert_eq!(CongestionEvidence::default().named(), None);
        assert_eq!(CongestionEvidence { cycles: 2, other_rises: 9, ..CongestionEvidence::default() }.named(), None);
    }

    #[test]
    fn one_loss_is_too_little_and_says_so() {
        let one = CongestionEvidence { reno: 1, ..CongestionEvidence::default() }.named().expect("something was seen");
        assert_eq!((one.control, one.candidates), (None, [Some(ShownControl::Reno), None, None]));
    }

    #[test]
    fn the_more_losses_the_surer() {
        let sure = |cubic: u32| {
            CongestionEvidence { cubic, ..CongestionEvidence::default() }.named().and_then(|named| named.control)
        };
        assert_eq!(sure(2), Some((ShownControl::Cubic, 0.75)));
        assert_eq!(sure(40), Some((ShownControl::Cubic, MOST_CONFIDENCE)));
    }

    #[test]
    fn losses_of_two_kinds_name_none() {
        assert_eq!(named(CongestionEvidence { reno: 3, cubic: 3, ..CongestionEvidence::default() }), None);
        assert_eq!(named(CongestionEvidence { cubic: 3, neither: 3, ..CongestionEvidence::default() }), None);
    }

    #[test]
    fn losses_that_reduce_nothing_are_not_yet_bbr() {
        let kept = CongestionEvidence { kept: 50, ..CongestionEvidence::default() };
        assert_eq!(named(kept), None);
        assert_eq!(kept.named().expect("something was seen").candidates[0], Some(ShownControl::Bbr));
        assert_eq!(named(CongestionEvidence { round_trip_probes: 1, ..kept }), Some(ShownControl::Bbr));
        assert_eq!(named(CongestionEvidence { cycles: 6, ..kept }), Some(ShownControl::Bbr));
        assert_eq!(named(CongestionEvidence { cycles: 6, reno: 40, ..kept }), None);
    }
}

//! Counters over logarithmic buckets of a length of time.

/// Start and end of a gap.
pub type Span = [i64; 2];

/// Floor of the bucket a duration lies in.
pub(crate) fn floor_of(value_ns: u64) -> u64 {
    let exponent = 63 - value_ns.max(1).leading_zeros();
    let shift = exponent.saturating_sub(6);
    (value_ns >> shift) << shift
}

/// Smallest bucket floor that is not below a duration.
pub(crate) fn ceiling_of(value_ns: u64) -> u64 {
    let floor = floor_of(value_ns);
    if floor == value_ns {
        return value_ns;
    }
    let shift = (63 - value_ns.max(1).leading_zeros()).saturating_sub(6);
    floor.saturating_add(1 << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_durations_have_a_bucket_each() {
        assert_eq!((0..128).map(floor_of).collect::<Vec<_>>(), (0..128).collect::<Vec<_>>());
        assert_eq!((floor_of(129), ceiling_of(129)), (128, 130));
    }

    proptest! {
        #[test]
        fn a_duration_lies_between_its_floor_and_ceiling_a_64th_apart(value_ns in 0..u64::MAX / 2) {
            let (floor, ceiling) = (floor_of(value_ns), ceiling_of(value_ns));
            prop_assert!(floor <= value_ns && value_ns <= ceiling);
            prop_assert!(ceiling - floor <= value_ns / 64 + 1);
            prop_assert_eq!((floor_of(floor), floor_of(ceiling)), (floor, ceiling));
        }
    }
}

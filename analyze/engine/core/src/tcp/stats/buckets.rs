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

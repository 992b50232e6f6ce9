//! Integers of some thousand rows in as few bytes as their range takes: the least of them, and how far each lies above it.
//!
//! What is read comes out as it was put in, whatever it is: the distance of any two `i64` fits into 64 bits. Neighbouring rows
//! of a capture are alike (times, frame numbers, positions), so that most columns take one to four bytes a row; where a value
//! is missing it takes none.

/// Integers, some of which may be missing.
#[derive(Debug, Clone)]
pub struct PackedIntegers {
    present: Present,
    least: i64,
    above: Above,
}

#[derive(Debug, Clone)]
enum Present {
    All,
    /// A bit for each row.
    Some(Box<[u64]>),
    None,
}

/// Distances from the least value, of the rows that have one.
#[derive(Debug, Clone)]
enum Above {
    Nothing,
    Bytes1(Box<[u8]>),
    Bytes2(Box<[u16]>),
    Bytes4(Box<[u32]>),
    Bytes8(Box<[u64]>),
}

impl PackedIntegers {
    /// Packs these values.
    pub fn of(values: &[Option<i64>]) -> Self {
        let there = || values.iter().flatten().copied();
        let least = there().min().unwrap_or(0);
        let distances = || there().map(|value| value.wrapping_sub(least) as u64);
        let above = match distances().max().unwrap_or(0) {
            0 => Above::Nothing,
            1..=0xFF => Above::Bytes1(distances().map(|distance| distance as u8).collect()),
            0x100..=0xFFFF => Above::Bytes2(distances().map(|distance| distance as u16).collect()),
            0x1_0000..=0xFFFF_FFFF => Above::Bytes4(distances().map(|distance| distance as u32).collect()),
            _ => Above::Bytes8(distances().collect()),
        };
        let present = match there().count() {
            0 => Present::None,
            count if count == values.len() => Present::All,
            _ => Present::Some(values.chunks(64).map(bits).collect()),
        };
        Self { present, least, above }
    }

    /// Puts the values of all `rows` rows behind `into`.
    pub fn unpack(&self, rows: usize, into: &mut Vec<Option<i64>>) {
        let least = self.least;
        match &self.above {
            Above::Nothing => self.place(rows, std::iter::repeat(least), into),
            Above::Bytes1(above) => self.place(rows, above.iter().map(|&by| least.wrapping_add(i64::from(by))), into),
            Above::Bytes2(above) => self.place(rows, above.iter().map(|&by| least.wrapping_add(i64::from(by))), into),
            Above::Bytes4(above) => self.place(rows, above.iter().map(|&by| least.wrapping_add(i64::from(by))), into),
            Above::Bytes8(above) => self.place(rows, above.iter().map(|&by| least.wrapping_add(by as i64)), into),
        }
    }

    /// Makes each value larger by `by`.
    pub fn add(&mut self, by: u32) {
        self.least = self.least.wrapping_add(i64::from(by));
    }

    fn place(&self, rows: usize, mut values: impl Iterator<Item = i64>, into: &mut Vec<Option<i64>>) {
        match &self.present {
            Present::All => into.extend(values.take(rows).map(Some)),
            Present::Some(words) => into.extend((0..rows).map(|row| {
                let is_there = words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
                if is_there { values.next() } else { None }
            })),
            Present::None => into.extend(std::iter::repeat_n(None, rows)),
        }
    }
}

/// A bit for each of up to 64 values, the first one's the lowest.
fn bits(values: &[Option<i64>]) -> u64 {
    values.iter().rev().fold(0, |word, value| word << 1 | u64::from(value.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpacked(packed: &PackedIntegers, rows: usize) -> Vec<Option<i64>> {
        let mut values = Vec::new();
        packed.unpack(rows, &mut values);
        values
    }

    #[test]
    fn values_take_the_bytes_that_their_range_takes() {
        let above = |values: &[i64]| PackedIntegers::of(&values.iter().copied().map(Some).collect::<Vec<_>>()).above;
        assert!(matches!(above(&[7, 7, 7]), Above::Nothing));
        assert!(matches!(above(&[-1, 254]), Above::Bytes1(_)));
        assert!(matches!(above(&[-1, 255]), Above::Bytes2(_)));
        assert!(matches!(above(&[1 << 40, (1 << 40) + 0xFFFF_FFFF]), Above::Bytes4(_)));
        assert!(matches!(above(&[i64::MIN, i64::MAX]), Above::Bytes8(_)));
    }

    #[test]
    fn missing_values_take_no_room_and_stay_missing() {
        let values: Vec<Option<i64>> = (0..200).map(|row| (row % 3 == 0).then_some(1000 * row)).collect();
        let packed = PackedIntegers::of(&values);
        assert!(matches!(&packed.above, Above::Bytes4(above) if above.len() == 67));
        assert_eq!(unpacked(&packed, 200), values);
        let nothing = PackedIntegers::of(&[None, None]);
        assert!(matches!(nothing, PackedIntegers { present: Present::None, above: Above::Nothing, .. }));
        assert_eq!(unpacked(&nothing, 2), [None, None]);
    }

    #[test]
    fn what_is_added_to_a_column_is_added_to_every_value_there_is() {
        let mut packed = PackedIntegers::of(&[Some(1), None, Some(300)]);
        packed.add(5);
        assert_eq!(unpacked(&packed, 3), [Some(6), None, Some(305)]);
    }

    fn value() -> impl Strategy<Value = i64> {
        prop_oneof![any::<i64>(), 0..300i64, 0..70_000i64]
    }

    proptest! {
        #[test]
        fn any_values_come_out_as_they_were(
            values in prop::collection::vec(prop::option::weighted(0.8, value()), 0..300)
        ) {
            prop_assert_eq!(unpacked(&PackedIntegers::of(&values), values.len()), values);
        }
    }
}

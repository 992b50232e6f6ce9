//! How many connections a reading without end has forgotten ([`crate::tcp::flow::forget`]). Numbers go by first packets, and stay what they
//! would be: for each connection that is kept it is known how many before it are gone.

/// How many connections are gone, for each number.
#[derive(Debug, Clone, Default)]
pub struct Forgotten {
    /// For those that were kept when some were forgotten last: their first packets, and how many before them are gone.
    before: Vec<(u64, u32)>,
    /// All that are gone.
    count: u32,
}

impl Forgotten {
    /// How many are gone that began before the connection whose first packet is number `order`.
    pub fn before(&self, order: u64) -> u32 {
        let known = self.before.binary_search_by_key(&order, |(order, _)| *order);
        known.ok().and_then(|place| self.before.get(place)).map_or(self.count, |(_, gone)| *gone)
    }

    /// How many are gone.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Forgets those that begin with `gone`, while these are `kept`; both ascend.
    pub(super) fn add(&mut self, gone: &[u64], kept: &[u64]) {
        let behind = |order: u64| gone.partition_point(|one| *one < order) as u32;
        let before = kept.iter().map(|&order| (order, self.before(order) + behind(order))).collect();
        (self.before, self.count) = (before, self.count + gone.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_what_they_were_whatever_is_forgotten() {
        // Connections whose first packets are numbers 0, 10, 20, ...: the number of each is its order / 10 + 1.
        let mut forgotten = Forgotten::default();
        let mut kept: Vec<u64> = (0..100).map(|number| 10 * number).collect();
        let mut next = 1000;
        for round in 2..9 {
            let (gone, stay): (Vec<u64>, Vec<u64>) = kept.iter().partition(|order| *order / 10 % round == 0);
            forgotten.add(&gone, &stay);
            kept = stay;
            kept.extend((0..20).map(|number| next + 10 * number));
            next += 200;
            for (place, order) in kept.iter().enumerate() {
                assert_eq!(place as u32 + forgotten.before(*order), *order as u32 / 10);
            }
        }
        assert_eq!(forgotten.count() as usize + kept.len(), next as usize / 10);
    }
}

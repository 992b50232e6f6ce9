//! What connections of several buckets show together: limits that hosts share over all their pairs, and servers that are asked from
//! several buckets. Each bucket packs its part; here they become what one process finds.

use crate::analysis::results::Analysis;
use crate::tcp::requests::servers::Servers;
use crate::tcp::shared_limits::{FoundLimits, Given, among_packed};

/// What a bucket gave.
pub struct Bucket<'a> {
    /// Its [`Analysis::flows`].
    pub flows: &'a [u8],
    /// Its [`Analysis::servers`], packed.
    pub servers: &'a [u8],
    /// The numbers of its connections among all, from 1 on.
    pub numbers: &'a [u32],
}

/// Shared limits and servers of all buckets, as a result without connections; and of each bucket which of its connections share a limit,
/// by their places in it. None if something is damaged.
pub fn merged(buckets: &[Bucket<'_>]) -> Option<(Analysis, Vec<Vec<Given>>)> {
    let flows: Vec<_> = buckets.iter().map(|bucket| (bucket.flows, bucket.numbers)).collect();
    let FoundLimits { limits: shared_limits, given } = among_packed(&flows)?;
    let mut servers = Servers::default();
    for bucket in buckets {
        servers.add_packed(bucket.servers, bucket.numbers)?;
    }
    servers.keep_first();
    let given = buckets.iter().map(|bucket| of_bucket(bucket.numbers, &given)).collect();
    Some((Analysis { shared_limits, known_servers: Some(servers), ..Analysis::default() }, given))
}

/// Those of one bucket; its numbers rise.
fn of_bucket(numbers: &[u32], given: &[Given]) -> Vec<Given> {
    let mut found: Vec<Given> = given
        .iter()
        .filter_map(|one| {
            let number = u32::try_from(one.place + 1).ok()?;
            Some(Given { place: numbers.binary_search(&number).ok()?, ..*one })
        })
        .collect();
    found.sort_by_key(|one| (one.place, one.side));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_parts_are_none() {
        let bucket = |flows, servers| Bucket { flows, servers, numbers: &[1, 4] };
        assert!(merged(&[bucket(&[], &[]), bucket(&[], &[])]).is_some_and(|(_, given)| given == [vec![], vec![]]));
        assert!(merged(&[bucket(&[1], &[])]).is_none());
        assert!(merged(&[bucket(&[], &[1])]).is_none());
    }
}

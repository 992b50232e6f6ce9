//! Frames that show something, for a verdict or an outcome.

use crate::output::describe::visitor::Visitor;
use crate::output::key::key;
use crate::tcp::verdict::case::Evidence;

pub(super) fn evidence(list: &[Evidence], visitor: &mut impl Visitor) {
    visitor.records(key!("evidence"), Some(list.iter()), |evidence, visitor| {
        let places = || evidence.into_iter().flat_map(|evidence| &evidence.frames);
        visitor.text(key!("text"), evidence.map(|evidence| evidence.text.as_str()));
        visitor.integers(key!("frames"), places().map(|place| u64::from(place.frame)));
        visitor.instants(key!("times_ns"), places().map(|place| place.time_ns));
        visitor.text(key!("display_filter"), evidence.map(Evidence::display_filter).as_deref());
    });
}

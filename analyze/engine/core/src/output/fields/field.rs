//! How a field is described: what it means, its unit where the name does not say it, when it is null or left out, its values.

/// Fields of one meaning, at their paths within a section.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Paths, separated by commas. `*` stands for each of the values.
    pub paths: &'static str,
    /// What they mean.
    pub meaning: &'static str,
    /// Their unit, where their names do not end in it.
    pub unit: Option<&'static str>,
    /// When they are null: `if ...`, `where ...`.
    pub null: Option<&'static str>,
    /// When they are left out, where that is not plain.
    pub left_out: Option<&'static str>,
    /// All words that they may be, or the names that `*` stands for.
    pub values: Option<fn() -> Vec<&'static str>>,
    /// Numbers may be negative.
    pub is_signed: bool,
}

/// A description, at its shortest.
pub(in crate::output) const fn field(paths: &'static str, meaning: &'static str) -> Field {
    Field { paths, meaning, unit: None, null: None, left_out: None, values: None, is_signed: false }
}

impl Field {
    pub(in crate::output) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// A number from 0 to 1.
    pub(in crate::output) const fn share(self) -> Self {
        self.unit(SHARE)
    }

    pub(in crate::output) const fn null(mut self, when: &'static str) -> Self {
        self.null = Some(when);
        self
    }

    pub(in crate::output) const fn left_out(mut self, when: &'static str) -> Self {
        self.left_out = Some(when);
        self
    }

    pub(in crate::output) const fn values(mut self, values: fn() -> Vec<&'static str>) -> Self {
        self.values = Some(values);
        self
    }

    pub(in crate::output) const fn signed(mut self) -> Self {
        self.is_signed = true;
        self
    }
}

/// The unit of shares.
pub const SHARE: &str = "0..1";

/// Endings of names and the units that they say.
const ENDINGS: [(&str, &str); 4] = [("_s", "s"), ("_ns", "ns"), ("_bytes", "bytes"), ("_bps", "bit/s")];

impl Field {
    /// The unit of the field of this path; empty where there is none.
    pub fn unit_of(&self, path: &str) -> &'static str {
        let by_name =
            || path.split('.').rev().find_map(|name| ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)));
        self.unit.or_else(|| by_name().map(|(_, unit)| *unit)).unwrap_or_default()
    }
}

/// Fields that stand together in one object, and in one table of the documentation.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// Where the object is in the document; [`DIRECTION`] stands for both.
    pub at: &'static [&'static str],
    /// In the order of the documentation.
    pub fields: &'static [Field],
}

/// Where a direction is.
pub const DIRECTION: &str = "connections[].DIRECTION";

const DIRECTIONS: [&str; 2] = ["connections[].client_to_server", "connections[].server_to_client"];

impl Section {
    /// All places in the document, empty for the document itself.
    pub fn places(&self) -> Vec<String> {
        let of = |at: &&str| match at.strip_prefix(DIRECTION) {
            Some(rest) => DIRECTIONS.map(|direction| format!("{direction}{rest}")).to_vec(),
            None => vec![(*at).to_owned()],
        };
        self.at.iter().flat_map(of).collect()
    }
}

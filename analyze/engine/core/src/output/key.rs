//! Names of fields, made once when the program is compiled, with the rule when a field is in the JSON document.

/// The name of a field, as it stands in JSON, and when the field is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    quoted: &'static str,
    written: Written,
}

/// When a field is in the JSON document; it always is a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Always: the contract names it, or readers should see that there is nothing.
    Always,
    /// Unless it is null or empty.
    IfKnown,
    /// Unless it is null, empty, zero or false.
    IfSet,
}

/// Makes a [`Key`] of a name.
macro_rules! key {
    ($name:literal) => {
        key!($name, Always)
    };
    ($name:literal, $written:ident) => {
        $crate::output::key::Key::new(concat!("\"", $name, "\":"), $crate::output::key::Written::$written)
    };
}
pub(crate) use key;

impl Key {
    /// The text of a macro-made key: quoted name, colon.
    #[inline]
    pub(crate) const fn new(quoted: &'static str, written: Written) -> Self {
        Self { quoted, written }
    }

    /// `"name":`
    #[inline]
    pub fn quoted(self) -> &'static str {
        self.quoted
    }

    /// The bare name.
    pub fn name(self) -> &'static str {
        self.quoted.get(1..self.quoted.len() - 2).unwrap_or_default()
    }

    /// False for a field that would say nothing, being null or empty (`known` is false) or zero or false (`set` is false).
    #[inline]
    pub fn is_written(self, known: bool, set: bool) -> bool {
        match self.written {
            Written::Always => true,
            Written::IfKnown => known,
            Written::IfSet => set,
        }
    }
}

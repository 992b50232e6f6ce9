//! Names of fields, made once when the program is compiled, with the rule when a field is in the JSON document.

/// The name of a field, as it stands in JSON, and when the field is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    texts: &'static Texts,
    written: Written,
}

/// A field as it stands in JSON, with the values that are so frequent that they are worth a text of their own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Texts {
    /// `"name":`
    pub quoted: &'static str,
    /// `"name":"`
    pub word: &'static str,
    /// `"name":{`
    pub object: &'static str,
    /// `"name":null,`
    pub null: &'static str,
    /// `"name":0,`
    pub zero: &'static str,
    /// `"name":0.0,`
    pub zero_float: &'static str,
    /// `"name":false,`
    pub no: &'static str,
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
    ($name:expr) => {
        key!($name, Always)
    };
    ($name:expr, $written:ident) => {
        $crate::output::key::Key::new(
            &$crate::output::key::Texts {
                quoted: concat!("\"", $name, "\":"),
                word: concat!("\"", $name, "\":\""),
                object: concat!("\"", $name, "\":{"),
                null: concat!("\"", $name, "\":null,"),
                zero: concat!("\"", $name, "\":0,"),
                zero_float: concat!("\"", $name, "\":0.0,"),
                no: concat!("\"", $name, "\":false,"),
            },
            $crate::output::key::Written::$written,
        )
    };
}

pub(crate) use key;

impl Key {
    /// What the macro makes.
    #[inline]
    pub(crate) const fn new(texts: &'static Texts, written: Written) -> Self {
        Self { texts, written }
    }

    /// See [`Texts`].
    #[inline(always)]
    pub(crate) fn texts(self) -> &'static Texts {
        self.texts
    }

    /// The bare name.
    pub fn name(self) -> &'static str {
        self.texts.quoted.get(1..self.texts.quoted.len() - 2).unwrap_or_default()
    }

    /// When the field is there.
    pub fn written(self) -> Written {
        self.written
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

//! Decisions from bytes. When they are used up, every decision is the plainest one.

/// See the module.
pub struct Dice<'a>(&'a [u8]);

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// 0 to `end - 1`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// True for one byte of `count`, and not for 0.
    pub fn one_in(&mut self, count: u8) -> bool {
        self.byte() % count == count - 1
    }

    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }
}

//! Classic BPF filters: programs that libpcap compiled from a filter expression, run on frames of a file.
//!
//! Owns the check of a program ([`Program::parse`]) and its run; compiling expressions is libpcap's job. A checked
//! program always ends: jumps only go forward, but for a bounded number of turns of a loop.

mod instruction;
mod loopback;
mod machine;

use instruction::Instruction;

pub use instruction::InvalidProgram;
pub use loopback::Loopback;

/// A checked filter program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// Checks a program in the memory layout of `struct bpf_insn`: for each instruction `code` (u16), `jt` and `jf`
    /// (u8), `k` (u32), in this machine's byte order. The rules are those of the Linux kernel, but that a jump may go
    /// back as libpcap's do.
    ///
    /// # Errors
    /// [`InvalidProgram`] with the instruction's index, if the program is none the kernel would take.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidProgram> {
        instruction::parse(bytes).map(|instructions| Self { instructions })
    }

    /// Runs the program on a frame: 0 to drop it, else how many bytes of it to keep (often 262144 for "all").
    /// `packet` are the captured bytes, `wire_length` the frame's length on the wire. As in libpcap, a load beyond the
    /// captured bytes or a division by zero drops the frame; so does a loop without end.
    #[must_use]
    pub fn run(&self, packet: &[u8], wire_length: u32) -> u32 {
        machine::run(&self.instructions, packet, wire_length).unwrap_or(0)
    }
}

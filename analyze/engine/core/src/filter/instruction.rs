//! Instructions of classic BPF (McCanne and Jacobson, 1993; Linux `Documentation/networking/filter.rst`), checked.

use std::fmt;

/// Bytes of a packed `struct bpf_insn`.
const INSTRUCTION_LENGTH: usize = 8;

/// Instructions of a program (BPF_MAXINSNS).
const MAXIMUM_INSTRUCTIONS: usize = 4096;

/// Words of scratch memory (BPF_MEMWORDS).
pub(super) const MEMORY_WORDS: usize = 16;

/// Number of bytes a load takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Word,
    Half,
    Byte,
}

/// What an arithmetic or jump instruction takes as its second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// The constant of the instruction.
    K,
    /// The index register.
    X,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Or,
    And,
    ShiftLeft,
    ShiftRight,
    Modulo,
    ExclusiveOr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
}

/// A: accumulator, X: index register, M: scratch memory, P: packet, k: constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// `A = P[k]`
    LoadAbsolute(Size),
    /// `A = P[X + k]`
    LoadIndirect(Size),
    /// `A = length on the wire`
    LoadLength,
    /// `A = k`
    LoadImmediate,
    /// `A = M[k]`
    LoadMemory,
    /// `X = k`
    IndexImmediate,
    /// `X = M[k]`
    IndexMemory,
    /// `X = length on the wire`
    IndexLength,
    /// `X = 4 * (P[k] & 15)`: the length of an IPv4 header
    IndexHeaderLength,
    /// `M[k] = A`
    Store,
    /// `M[k] = X`
    StoreIndex,
    Arithmetic(Arithmetic, Operand),
    /// `A = -A`
    Negate,
    /// Skip k instructions, or go back if it is negative: so libpcap steps over a chain of headers (`protochain`).
    Jump,
    /// Skip `jt` instructions if the condition holds, else `jf`.
    Branch(Condition, Operand),
    ReturnConstant,
    ReturnAccumulator,
    /// `X = A`
    ToIndex,
    /// `A = X`
    FromIndex,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) operation: Operation,
    pub(super) jump_true: u8,
    pub(super) jump_false: u8,
    pub(super) k: u32,
}

/// Why a filter program is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidProgram {
    /// Its length in bytes is not that of 1 to 4096 instructions.
    Length(usize),
    /// No such operation.
    UnknownOperation {
        /// Index of the instruction.
        at: usize,
        /// Its operation code.
        code: u16,
    },
    /// A jump leads out of the program.
    JumpOutOfRange {
        /// Index of the instruction.
        at: usize,
    },
    /// A scratch memory word that does not exist.
    NoSuchMemory {
        /// Index of the instruction.
        at: usize,
    },
    /// A scratch memory word is read that may not have been written.
    MemoryNotWritten {
        /// Index of the instruction.
        at: usize,
    },
    /// Division by the constant zero.
    DivisionByZero {
        /// Index of the instruction.
        at: usize,
    },
    /// A constant shift by 32 bits or more.
    ShiftTooFar {
        /// Index of the instruction.
        at: usize,
    },
    /// The last instruction does not return.
    NoReturn,
}

impl fmt::Display for InvalidProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => {
                write!(
                    f,
                    "filter program of {bytes} bytes: must be 1 to {MAXIMUM_INSTRUCTIONS} instructions of 8 bytes"
                )
            }
            Self::UnknownOperation { at, code } => write!(f, "filter instruction {at}: unknown operation {code:#06x}"),
            Self::JumpOutOfRange { at } => write!(f, "filter instruction {at}: jump out of the program"),
            Self::NoSuchMemory { at } => write!(f, "filter instruction {at}: no such memory word"),
            Self::MemoryNotWritten { at } => write!(f, "filter instruction {at}: reads memory that may be unwritten"),
            Self::DivisionByZero { at } => write!(f, "filter instruction {at}: division by zero"),
            Self::ShiftTooFar { at } => write!(f, "filter instruction {at}: shift by 32 bits or more"),
            Self::NoReturn => f.write_str("filter program does not end in a return"),
        }
    }
}

impl std::error::Error for InvalidProgram {}

/// Parses and checks a whole program.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Instruction>, InvalidProgram> {
    let count = bytes.len() / INSTRUCTION_LENGTH;
    if !bytes.len().is_multiple_of(INSTRUCTION_LENGTH) || count == 0 || count > MAXIMUM_INSTRUCTIONS {
        return Err(InvalidProgram::Length(bytes.len()));
    }
    let mut instructions = Vec::with_capacity(count);
    for (at, raw) in bytes.chunks_exact(INSTRUCTION_LENGTH).enumerate() {
        let &[c0, c1, jump_true, jump_false, k0, k1, k2, k3] = raw.first_chunk().ok_or(InvalidProgram::NoReturn)?;
        let code = u16::from_ne_bytes([c0, c1]);
        let operation = operation(code).ok_or(InvalidProgram::UnknownOperation { at, code })?;
        let instruction = Instruction { operation, jump_true, jump_false, k: u32::from_ne_bytes([k0, k1, k2, k3]) };
        check(&instruction, at, count)?;
        instructions.push(instruction);
    }
    match instructions.last().map(|last| last.operation) {
        Some(Operation::ReturnConstant | Operation::ReturnAccumulator) => {}
        _ => return Err(InvalidProgram::NoReturn),
    }
    check_memory(&instructions)?;
    Ok(instructions)
}

/// The operation of a code, if it is one of those the kernel and libpcap take.
fn operation(code: u16) -> Option<Operation> {
    use Operation as Op;
    // The class is in bits 0-2; loads have their size in bits 3-4 and their mode in bits 5-7.
    Some(match code {
        0x00 => Op::LoadImmediate,
        0x20 => Op::LoadAbsolute(Size::Word),
        0x28 => Op::LoadAbsolute(Size::Half),
        0x30 => Op::LoadAbsolute(Size::Byte),
        0x40 => Op::LoadIndirect(Size::Word),
        0x48 => Op::LoadIndirect(Size::Half),
        0x50 => Op::LoadIndirect(Size::Byte),
        0x60 => Op::LoadMemory,
        0x80 => Op::LoadLength,
        0x01 => Op::IndexImmediate,
        0x61 => Op::IndexMemory,
        0x81 => Op::IndexLength,
        0xb1 => Op::IndexHeaderLength,
        0x02 => Op::Store,
        0x03 => Op::StoreIndex,
        0x84 => Op::Negate,
        0x05 => Op::Jump,
        0x06 => Op::ReturnConstant,
        0x16 => Op::ReturnAccumulator,
        0x07 => Op::ToIndex,
        0x87 => Op::FromIndex,
        _ => return arithmetic_or_branch(code),
    })
}

/// Arithmetic (class 4) and branches (class 5): operation in bits 4-7, operand in bit 3.
fn arithmetic_or_branch(code: u16) -> Option<Operation> {
    let operand = if code & 0x08 == 0 { Operand::K } else { Operand::X };
    let arithmetic = |kind| Some(Operation::Arithmetic(kind, operand));
    let branch = |condition| Some(Operation::Branch(condition, operand));
    match code & !0x08 {
        0x04 => arithmetic(Arithmetic::Add),
        0x14 => arithmetic(Arithmetic::Subtract),
        0x24 => arithmetic(Arithmetic::Multiply),
        0x34 => arithmetic(Arithmetic::Divide),
        0x44 => arithmetic(Arithmetic::Or),
        0x54 => arithmetic(Arithmetic::And),
        0x64 => arithmetic(Arithmetic::ShiftLeft),
        0x74 => arithmetic(Arithmetic::ShiftRight),
        0x94 => arithmetic(Arithmetic::Modulo),
        0xa4 => arithmetic(Arithmetic::ExclusiveOr),
        0x15 => branch(Condition::Equal),
        0x25 => branch(Condition::Greater),
        0x35 => branch(Condition::GreaterOrEqual),
        0x45 => branch(Condition::AnyBit),
        _ => None,
    }
}

/// Checks what can be told from one instruction of a program of `count`.
fn check(instruction: &Instruction, at: usize, count: usize) -> Result<(), InvalidProgram> {
    use Operation as Op;
    let k = instruction.k as usize;
    // Instructions behind this one: a jump may skip all but one of them.
    let behind = count - at - 1;
    match instruction.operation {
        Op::Arithmetic(Arithmetic::Divide | Arithmetic::Modulo, Operand::K) if k == 0 => {
            Err(InvalidProgram::DivisionByZero { at })
        }
        Op::Arithmetic(Arithmetic::ShiftLeft | Arithmetic::ShiftRight, Operand::K) if k >= 32 => {
            Err(InvalidProgram::ShiftTooFar { at })
        }
        Op::LoadMemory | Op::IndexMemory | Op::Store | Op::StoreIndex if k >= MEMORY_WORDS => {
            Err(InvalidProgram::NoSuchMemory { at })
        }
        Op::Jump if k >= behind && target_behind(instruction, at).is_none() => {
            Err(InvalidProgram::JumpOutOfRange { at })
        }
        Op::Branch(..) if usize::from(instruction.jump_true.max(instruction.jump_false)) >= behind => {
            Err(InvalidProgram::JumpOutOfRange { at })
        }
        _ => Ok(()),
    }
}

/// Where the jump at `at` goes back to, if it does.
fn target_behind(jump: &Instruction, at: usize) -> Option<usize> {
    let skip = jump.k.cast_signed();
    (at + 1).checked_add_signed(isize::try_from(skip).ok()?).filter(|&target| skip < 0 && target < at)
}

/// Checks that no memory word is read which some way through the program leaves unwritten (as the kernel does).
fn check_memory(instructions: &[Instruction]) -> Result<(), InvalidProgram> {
    // For each instruction, the words written on all ways to it that were followed so far.
    let mut written = vec![u16::MAX; instructions.len()];
    // On the way from the instruction just before; nothing is written at the start.
    let mut current = 0_u16;
    for (at, instruction) in instructions.iter().enumerate() {
        current &= written.get(at).copied().unwrap_or(0);
        if let Some(here) = written.get_mut(at) {
            *here = current;
        }
        // What lies between was checked with the words of the first time through: there must be no fewer now.
        if instruction.operation == Operation::Jump
            && let Some(target) = target_behind(instruction, at)
        {
            if written.get(target).is_none_or(|first| first & !current != 0) {
                return Err(InvalidProgram::MemoryNotWritten { at });
            }
            current = u16::MAX;
            continue;
        }
        let mut reaches = |skip: usize, words: u16| {
            if let Some(target) = written.get_mut(at + 1 + skip) {
                *target &= words;
            }
        };
        let word = 1_u16.checked_shl(instruction.k).unwrap_or(0);
        match instruction.operation {
            Operation::Store | Operation::StoreIndex => current |= word,
            Operation::LoadMemory | Operation::IndexMemory if current & word == 0 => {
                return Err(InvalidProgram::MemoryNotWritten { at });
            }
            Operation::Jump => {
                reaches(instruction.k as usize, current);
                current = u16::MAX;
            }
            Operation::Branch(..) => {
                reaches(usize::from(instruction.jump_true), current);
                reaches(usize::from(instruction.jump_false), current);
                current = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}

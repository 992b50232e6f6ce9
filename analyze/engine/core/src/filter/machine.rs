//! The BPF machine, with libpcap's semantics (`pcapint_filter`).
//!
//! Rule: docs/methods.md, "Filters".

use crate::filter::instruction::{Arithmetic, Condition, Instruction, MEMORY_WORDS, Operand, Operation, Size};

/// Runs a checked program; none where a load fails or a division is by zero, which drops the frame.
pub(super) fn run(program: &[Instruction], packet: &[u8], wire_length: u32) -> Option<u32> {
    let (mut a, mut x) = (0_u32, 0_u32);
    let mut memory = [0_u32; MEMORY_WORDS];
    let mut at = 0_usize;
    // A loop steps over headers, so more turns than the packet has bytes lead nowhere.
    let mut turns_left = packet.len();
    while let Some(instruction) = program.get(at) {
        let k = instruction.k;
        at += 1;
        match instruction.operation {
            Operation::LoadAbsolute(size) => a = load(packet, k, size)?,
            Operation::LoadIndirect(size) => a = load(packet, x.checked_add(k)?, size)?,
            Operation::LoadLength => a = wire_length,
            Operation::LoadImmediate => a = k,
            Operation::LoadMemory => a = *memory.get(k as usize)?,
            Operation::IndexImmediate => x = k,
            Operation::IndexMemory => x = *memory.get(k as usize)?,
            Operation::IndexLength => x = wire_length,
            Operation::IndexHeaderLength => x = (load(packet, k, Size::Byte)? & 15) * 4,
            Operation::Store => *memory.get_mut(k as usize)? = a,
            Operation::StoreIndex => *memory.get_mut(k as usize)? = x,
            Operation::Arithmetic(kind, operand) => a = compute(kind, a, second(operand, k, x))?,
            Operation::Negate => a = a.wrapping_neg(),
            Operation::Jump => {
                let skip = k.cast_signed();
                turns_left = turns_left.checked_sub(usize::from(skip < 0))?;
                at = at.checked_add_signed(isize::try_from(skip).ok()?)?;
            }
            Operation::Branch(condition, operand) => {
                let holds = test(condition, a, second(operand, k, x));
                at += usize::from(if holds { instruction.jump_true } else { instruction.jump_false });
            }
            Operation::ReturnConstant => return Some(k),
            Operation::ReturnAccumulator => return Some(a),
            Operation::ToIndex => x = a,
            Operation::FromIndex => a = x,
        }
    }
    None
}

#[inline]
fn second(operand: Operand, k: u32, x: u32) -> u32 {
    match operand {
        Operand::K => k,
        Operand::X => x,
    }
}

#[inline]
fn load(packet: &[u8], offset: u32, size: Size) -> Option<u32> {
    let bytes = packet.get(offset as usize..)?;
    match size {
        Size::Word => bytes.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)),
        Size::Half => bytes.first_chunk().map(|bytes| u32::from(u16::from_be_bytes(*bytes))),
        Size::Byte => bytes.first().map(|byte| u32::from(*byte)),
    }
}

#[inline]
fn compute(kind: Arithmetic, a: u32, operand: u32) -> Option<u32> {
    Some(match kind {
        Arithmetic::Add => a.wrapping_add(operand),
        Arithmetic::Subtract => a.wrapping_sub(operand),
        Arithmetic::Multiply => a.wrapping_mul(operand),
        Arithmetic::Divide => a.checked_div(operand)?,
        Arithmetic::Modulo => a.checked_rem(operand)?,
        Arithmetic::Or => a | operand,
        Arithmetic::And => a & operand,
        Arithmetic::ExclusiveOr => a ^ operand,
        Arithmetic::ShiftLeft => a.checked_shl(operand).unwrap_or(0),
        Arithmetic::ShiftRight => a.checked_shr(operand).unwrap_or(0),
    })
}

#[inline]
fn test(condition: Condition, a: u32, operand: u32) -> bool {
    match condition {
        Condition::Equal => a == operand,
        Condition::Greater => a > operand,
        Condition::GreaterOrEqual => a >= operand,
        Condition::AnyBit => a & operand != 0,
    }
}

//! Filter programs. Byte 0 is the number of instructions; the frame that the program runs on follows them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vmtrace_core::filter::Program;

fuzz_target!(|data: &[u8]| {
    let Some((count, rest)) = data.split_first() else { return };
    let (program, frame) = rest.split_at((usize::from(*count) * 8).min(rest.len()));
    if let Ok(program) = Program::parse(program) {
        let kept = program.run(frame, frame.len() as u32);
        assert_eq!(kept, program.run(frame, frame.len() as u32), "a run leaves something behind");
    }
});

//! Prints what reading learns of some captures, read as one: `cargo run --example facts FILE...`.

use std::error::Error;
use std::fs::File;
use vmtrace_core::read::{Chunk, Input, open};

fn main() -> Result<(), Box<dyn Error>> {
    let mut inputs: Vec<Input> = Vec::new();
    for path in std::env::args_os().skip(1) {
        inputs.push(Box::new(File::open(path)?));
    }
    let mut source = open(inputs);
    let mut chunk = Chunk::default();
    loop {
        match source.next_chunk(&mut chunk) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => eprintln!("input {}: {error}", error.input()),
        }
    }
    for facts in source.inputs() {
        println!("{facts:#?}");
    }
    println!("{} bytes consumed", source.consumed_bytes());
    Ok(())
}

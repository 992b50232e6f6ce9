use std::io::stdout;
use vmtrace_core::analysis::{NoObserver, Options, analyze};
use vmtrace_core::output::json::JsonHeader;
use vmtrace_core::read::Input;
fn main() {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let a = analyze(vec![Box::new(std::io::Cursor::new(bytes)) as Input], &Options::default(), &NoObserver).unwrap();
        let h = JsonHeader { vmtrace_version: "0".to_owned(), input_paths: Vec::new(), only_connection: None };
        a.write_json(&mut stdout(), &h).unwrap();
    }
}

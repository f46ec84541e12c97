//! Evenkeel's command line: flags and files in, reports out.
fn main() {}

//! Evenkeel's command line: flags and files in, reports out.
#![allow(dead_code, unused_imports, reason = "until the commands call what reports")]
mod caveats;
mod columns;
mod export;
#[cfg(test)]
mod fixture;
mod format;
mod progress;
mod report;
mod table;

fn main() {}

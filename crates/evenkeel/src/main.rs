//! Evenkeel's command line: flags and files in, reports out.
#[allow(dead_code, reason = "called by the commands")]
mod export;
#[cfg(test)]
mod fixture;
#[allow(dead_code, reason = "called by the commands")]
mod format;
#[allow(dead_code, reason = "called by the commands")]
mod progress;
#[allow(dead_code, reason = "called by the commands")]
mod report;
#[allow(dead_code, reason = "called by the commands")]
mod table;

fn main() {}

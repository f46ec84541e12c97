//! A profile from its command line to its outcome: `flags` and `line` read it, `spec` makes a study of it with its `servers`, what those differ in (`variant`, by `factors`), their `cpus`
//! and who sees those `elsewhere`, `run` has it measured and shown, and `resume` goes on where one was stopped.

pub mod flags;
pub mod resume;
pub mod run;
mod servers;
pub mod spec;
mod variant;

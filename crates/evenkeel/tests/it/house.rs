//! Rules that neither the compiler nor a lint keeps: which crate uses which, and the words of the help.

mod edges;
pub mod help;

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

//! Memory, by a process that wants more than it may have. It is tried at a small limit, which takes moments whatever the limit; that
//! the kernel has the limit itself is read back.

use super::{Inside, refused, untried};
use crate::sandbox::SandboxError;
use crate::sandbox::domain::Domain;
use std::os::unix::process::ExitStatusExt;

/// At what limit it is tried, and what the process wants then: dd fills a buffer of that size.
const TRIED: u64 = 24 << 20;
const HOG: [&str; 5] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"];
/// What the kernel counts memory in at most.
const PAGE: u64 = 64 << 10;

impl Inside<'_> {
    pub(super) fn prove_memory(&self, bytes: u64) -> Result<String, SandboxError> {
        let what = Domain { memory: Some(bytes), ..Domain::default() }.to_string();
        let untried = untried(&what);
        if let Some(above) = self.groups.memory_above().filter(|above| *above < bytes) {
            return Err(refused(&what, format!("a group above it has {above} bytes at most")));
        }
        self.groups.set_memory(TRIED).map_err(&untried)?;
        let mut hog = self.start(&HOG, None).map_err(&untried)?;
        let ended = hog.0.wait().map_err(&untried)?;
        let set = self.groups.set_memory(bytes).map_err(&untried)?;
        // An end of its own is no proof: dd may want for memory for another reason.
        if ended.signal() != Some(libc::SIGKILL) {
            let reason =
                format!("a process that wanted 64 MiB where 24 MiB are allowed was not killed: {ended}");
            return Err(refused(&what, reason));
        }
        if set.abs_diff(bytes) > PAGE {
            return Err(refused(&what, format!("the kernel made {set} bytes of it")));
        }
        Ok(format!(
            "a process that wanted more than a limit of 24 MiB was killed, and the kernel has {set} bytes"
        ))
    }
}

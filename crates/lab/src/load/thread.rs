//! Where a load thread runs.

use evenkeel_os::cpu::Affinity;
use std::io;

/// Runs the calling thread on one CPU only.
pub(super) fn pin(cpu: usize) -> io::Result<()> {
    Affinity::of(u32::try_from(cpu)).apply()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        assert!(pin(1_023).is_err());
        assert!(pin(1 << 20).is_err());
    }
}

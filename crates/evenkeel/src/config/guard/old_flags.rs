//! Flags of a guard that were called otherwise before. They are still taken.

use crate::old_names::either;

/// The limits under their old names.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OldFlags {
    /// Now called --initial-limit
    #[arg(long, hide = true, value_name = "N", conflicts_with = "initial_limit")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: Option<u32>,
    /// Now called --max-limit
    #[arg(long, hide = true, value_name = "N", conflicts_with = "max_limit")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit_max: Option<u32>,
}

impl OldFlags {
    /// The initial limit, under whichever name it was given.
    pub fn initial_limit(&self, new: &Option<u32>) -> Option<u32> {
        either(("--initial-limit", new), ("--limit", &self.limit))
    }

    /// The highest limit, under whichever name it was given.
    pub fn max_limit(&self, new: &Option<u32>) -> Option<u32> {
        either(("--max-limit", new), ("--limit-max", &self.limit_max))
    }
}
